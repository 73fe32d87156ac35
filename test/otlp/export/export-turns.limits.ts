import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bound } from '../../bound.ts';
import { runChild } from '../../contract/child.ts';
import { BACKENDS, backendOf } from '../send/exporter-backends.ts';
import type { ColdExport, ColdExportTold } from './cold-export.ts';

const CHILD = fileURLToPath(import.meta.resolve('./cold-export.ts'));
const CHILD_TIMEOUT_MS = 60_000;
const SERIES = 10_000;
const TURN_MS_MAX = 50;
/**
 * The best of several processes counts. All are equally cold, and only their own time is measured; but a core is slower
 * while others use its caches or its other hyper-thread.
 */
const RUNS_MAX = 3;

/** For each two columns, all pairs of values are tested. */
const CASES = [
  ['grpc', 'explicit_bucket_histogram', 'cumulative', 'none'],
  ['grpc', 'base2_exponential_bucket_histogram', 'delta', 'gzip'],
  ['http/protobuf', 'explicit_bucket_histogram', 'delta', 'gzip'],
  ['http/protobuf', 'base2_exponential_bucket_histogram', 'cumulative', 'none'],
  ['http/json', 'explicit_bucket_histogram', 'cumulative', 'gzip'],
  ['http/json', 'base2_exponential_bucket_histogram', 'delta', 'none'],
] as const;

async function exportCold(asked: ColdExport): Promise<ColdExportTold> {
  const { code, stdout, stderr } = await runChild(
    process.execPath,
    // Garbage is collected by the measured thread.
    ['--single-threaded-gc', CHILD, JSON.stringify(asked)],
    { cwd: import.meta.dirname, env: {}, timeoutMs: CHILD_TIMEOUT_MS },
  );
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

for (const [protocol, histograms, temporality, compression] of CASES) {
  test(`the first export of a process, with ${SERIES} series of an ${histograms} (${protocol}, ${temporality}, ${compression}), blocks the event loop for less than ${TURN_MS_MAX} ms`, async (t) => {
    const start = BACKENDS.find((backend) => backend.protocol === protocol)?.start;
    assert.ok(start !== undefined);
    const { endpoint } = await backendOf(t, start);
    const turnsMs = [Infinity];
    while (Math.min(...turnsMs) >= TURN_MS_MAX && turnsMs.length <= RUNS_MAX) {
      const { outcomes, longestTurnMs } = await exportCold({
        ...{ endpoint, series: SERIES },
        exporter: { protocol, compression },
        streams: { histograms, temporality },
      });
      assert.deepEqual(
        outcomes.map(({ outcome, items }) => [outcome, items]),
        [['success', SERIES]],
      );
      turnsMs.push(longestTurnMs);
    }
    const promise = `longest turn of a first export, ${protocol}, ${histograms}, ${temporality}, ${compression}`;
    bound(t, promise, Math.min(...turnsMs), TURN_MS_MAX, 'ms');
  });
}
