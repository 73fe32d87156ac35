import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runChild } from '../../contract/child.ts';
import { BACKENDS, backendOf } from '../send/exporter-backends.ts';
import type { ColdExport, ColdExportTold } from './cold-export.ts';

const CHILD = fileURLToPath(import.meta.resolve('./cold-export.ts'));
const CHILD_TIMEOUT_MS = 60_000;
const SERIES = 10_000;
const TURN_MS_MAX = 50;
/**
 * Of so many processes the best one counts. Each of them is as cold as the others, and only their own time is measured; but a
 * core does less in a ms while others use its caches, or the other half of it.
 */
const RUNS_MAX = 2;

/** Of each two columns, every value of the one is there with every value of the other. */
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
    // All garbage is collected by the thread whose time is measured.
    ['--single-threaded-gc', CHILD, JSON.stringify(asked)],
    { cwd: import.meta.dirname, env: {}, timeoutMs: CHILD_TIMEOUT_MS },
  );
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

for (const [protocol, histograms, temporality, compression] of CASES) {
  test(`the first export of a process, with ${SERIES} series of an ${histograms} (${protocol}, ${temporality}, ${compression}), holds nothing up for ${TURN_MS_MAX} ms`, async (t) => {
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
    assert.ok(Math.min(...turnsMs) < TURN_MS_MAX, `${turnsMs.slice(1).map(Math.round).join(', ')} ms`);
  });
}
