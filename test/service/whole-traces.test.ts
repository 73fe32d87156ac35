/** All failures and a share of the rest, through the whole of the pure pipeline: failing chains are whole, and so are the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { createTelemetry } from '../../src/service/telemetry.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import type { Span } from '../../src/tracer/span.ts';
import { failed, received, retried, SETTINGS, sent, started, succeeded, T0_MS } from '../cluster/events.ts';
import { SETTINGS as TRACES } from '../tracer/finished-facts.ts';

const CHAINS = 700;
/** One chain in ten fails, at its last task. */
const FAILING_EVERY = 10;
const RATIO = 0.05;

/** Random digits, the same in each run. */
function uuidOf(chain: number, link: number): string {
  let state = (chain * 4 + link + 1) * 2_654_435_761;
  const digits = Array.from({ length: 32 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state >>> 16) % 16).toString(16);
  }).join('');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
}

/** A chain of three, of which the second is retried; a thousandth of a second between two events. */
function chainOf(chain: number): readonly CeleryEvent[] {
  const ids = [0, 1, 2].map((link) => uuidOf(chain, link));
  const [root = ''] = ids;
  return ids.flatMap((uuid, link): readonly CeleryEvent[] => {
    const of = {
      uuid,
      name: `shop.step${link}`,
      extras: { lineage: { rootId: root, parentId: ids[link - 1] ?? '' } },
    };
    const first = [sent(of), received(of), started({ uuid })];
    const retry = { ...of, retries: 1 };
    if (link === 1)
      return [
        ...first,
        sent(retry),
        retried('Timeout', { uuid }),
        received(retry),
        started({ uuid }),
        succeeded({ uuid }),
      ];
    const isFailing = link === 2 && chain % FAILING_EVERY === 0;
    return [...first, isFailing ? failed('ValueError', { uuid }) : succeeded({ uuid })];
  });
}

/** Interleaves the chains: `inFlight` of them run at a time, each with an event every 100 ms. */
function spansOfAll(): readonly Span[] {
  const spans: Span[] = [];
  const failures = { key: 'celery.task.outcome', values: ['failed'] };
  const telemetry = createTelemetry({
    service: 'shop',
    broker: { urls: [{ scheme: 'recording', label: '', file: '', speed: 1 }] },
    report: ({ kind }) => assert.fail(kind),
    spans: {
      settings: {
        ...TRACES,
        holdMs: 300_000,
        sampler: {
          kind: 'rule_based',
          rules: [
            { attributeValues: failures, sampler: { kind: 'always_on' } },
            { sampler: { kind: 'probability', ratio: RATIO } },
          ],
        },
      },
      exceptions: { exceptionMessage: true, exceptionStacktrace: true, redact: [], redactNames: [] },
      add: (span) => spans.push(span),
    },
  });
  assert.ok(telemetry);
  const cluster = createCluster(
    { ...SETTINGS, tasksMax: 10_000 },
    () => {},
    finishedRuns(telemetry.listener),
  );
  const events = Array.from({ length: CHAINS }, (_, chain) =>
    chainOf(chain).map((event, index) => ({ event, atMs: chain * 20 + index * 100 })),
  )
    .flat()
    .sort((a, b) => a.atMs - b.atMs);
  for (const [clock, { event, atMs }] of events.entries()) {
    const timestampMs = T0_MS + atMs;
    cluster.apply({ ...event, timestampMs, clock }, timestampMs, timestampMs);
  }
  cluster.flush();
  telemetry.end(T0_MS + 1e6);
  return spans;
}

test('each failing chain is whole, and of the others about a twentieth, each whole', () => {
  const traces = Map.groupBy(spansOfAll(), ({ traceId }) => traceId);
  const tasks = (spans: readonly Span[]) => spans.map(({ name }) => name).toSorted();
  const whole = [
    ...['process shop.step0', 'process shop.step1', 'process shop.step1', 'process shop.step2'],
    ...['send shop.step0', 'send shop.step1', 'send shop.step1', 'send shop.step2'],
  ];
  let others = 0;
  for (let chain = 0; chain < CHAINS; chain += 1) {
    const spans = traces.get(uuidOf(chain, 0).replaceAll('-', ''));
    const isFailing = chain % FAILING_EVERY === 0;
    if (isFailing) assert.ok(spans, `chain ${chain} is missing`);
    if (spans === undefined) continue;
    assert.deepEqual(tasks(spans), whole, `chain ${chain}`);
    if (!isFailing) others += 1;
    // The probability of the trace is that of all its spans.
    const states = new Set(spans.map(({ traceState }) => traceState));
    assert.deepEqual([...states], [isFailing ? 'ot=th:0' : 'ot=th:f3333']);
  }
  assert.equal(traces.size, CHAINS / FAILING_EVERY + others);
  const expected = (CHAINS - CHAINS / FAILING_EVERY) * RATIO;
  assert.ok(Math.abs(others - expected) < 3 * Math.sqrt(expected), `${others}`);
});
