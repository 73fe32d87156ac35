/** What holds for every workflow: the shape of traces, the same ids from everybody, and counts that sampling does not change. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { Finished, FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import type { Span } from '../../src/tracer/span.ts';
import type { Sampler, TraceSettings } from '../../src/tracer/trace-settings.ts';
import { fc, SEED } from '../seed.ts';
import { run, sent, T0_MS, tracer } from './finished-facts.ts';
import { PLANS, workflow } from './random-workflows.ts';

const RUNS = { numRuns: 1000 };

function spansOf(facts: readonly Finished[], settings: Partial<TraceSettings> = {}): readonly Span[] {
  const made = tracer(settings);
  return facts.flatMap((finished) => made.trace(finished).spans);
}

/** The spans from it up to its root. */
function pathOf(span: Span, byId: ReadonlyMap<string, Span>): readonly Span[] {
  const path: Span[] = [];
  for (let at: Span | undefined = span; at !== undefined; at = byId.get(at.parentSpanId)) {
    assert.ok(!path.includes(at), 'a circle');
    path.push(at);
  }
  return path;
}

test('one root a trace, no orphan, no id twice, no parent in another trace, no circle', () => {
  fc.assert(
    fc.property(PLANS, fc.boolean(), (plans, sendSpans) => {
      const traces = Map.groupBy(spansOf(workflow(plans), { sendSpans }), ({ traceId }) => traceId);
      for (const spans of traces.values()) {
        const byId = new Map(spans.map((span) => [span.spanId, span]));
        assert.equal(byId.size, spans.length, 'an id twice');
        assert.equal(spans.filter(({ parentSpanId }) => parentSpanId === '').length, 1, 'roots');
        for (const span of spans) assert.equal(pathOf(span, byId).at(-1)?.parentSpanId, '', 'an orphan');
      }
    }),
    RUNS,
  );
});

test('links lead to spans that are there', () => {
  fc.assert(
    fc.property(PLANS, (plans) => {
      const spans = spansOf(workflow(plans));
      const known = new Set(spans.map(({ traceId, spanId }) => `${traceId}/${spanId}`));
      for (const { traceId, spanId } of spans.flatMap(({ links }) => links)) {
        assert.ok(known.has(`${traceId}/${spanId}`));
      }
    }),
    RUNS,
  );
});

test('another bridge, and one that was restarted, makes the same spans', () => {
  fc.assert(
    fc.property(PLANS, fc.nat(), (plans, at) => {
      const facts = workflow(plans);
      const spans = spansOf(facts);
      assert.deepEqual(spansOf(facts), spans);
      const cut = at % (facts.length + 1);
      assert.deepEqual([...spansOf(facts.slice(0, cut)), ...spansOf(facts.slice(cut))], spans);
    }),
    { ...RUNS, numRuns: 200 },
  );
});

test('a sampler keeps a part of the spans, and changes none but for its threshold', () => {
  fc.assert(
    fc.property(PLANS, fc.double({ min: 0, max: 1, noNaN: true }), (plans, ratio) => {
      const all = new Map(spansOf(workflow(plans)).map((span) => [`${span.traceId}/${span.spanId}`, span]));
      for (const span of spansOf(workflow(plans), { sampler: { kind: 'probability', ratio } })) {
        const { traceState } = span;
        assert.deepEqual(span, { ...all.get(`${span.traceId}/${span.spanId}`), traceState });
      }
    }),
    { ...RUNS, numRuns: 200 },
  );
});

const FINISHED = 10_000;

/** Like those of Celery, but the same in every run. */
function uuid4(n: number): string {
  const hex = hash('sha256', `${SEED}/${n}`, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Every fifth fails, every seventh is slow; half of them are told to be sent. */
function finished(n: number, rootOf: (n: number) => string): FinishedRun {
  return run({
    uuid: uuid4(n),
    rootId: rootOf(n),
    outcome: n % 5 === 0 ? 'failed' : 'succeeded',
    errorType: n % 5 === 0 ? 'ValueError' : '',
    endedMs: T0_MS + (n % 7 === 0 ? 5_000 : 120),
    sent: n % 2 === 0 ? sent() : undefined,
    isSentNew: n % 2 === 0,
  });
}

/** How many spans a backend takes a kept one for, by its trace state. */
function adjustedCount({ traceState }: Span): number {
  const [, digits] = /^ot=th:([0-9a-f]{1,14})$/.exec(traceState) ?? [];
  assert.ok(digits !== undefined, traceState);
  const least = Number.parseInt(digits.padEnd(14, '0'), 16);
  return 1 / (1 - least / 2 ** 56);
}

const ratio = (part: number): Sampler => ({ kind: 'probability', ratio: part });
const rest = { sampler: ratio(0.05) };
const failures = {
  attributeValues: { key: 'celery.task.outcome', values: ['failed'] },
  sampler: { kind: 'always_on' },
} as const;
const slow = {
  attributeValues: { key: 'celery.task.slow', values: ['true'] },
  sampler: ratio(0.5),
} as const;

const SAMPLERS: Readonly<Record<string, Sampler>> = {
  on: { kind: 'always_on' },
  half: ratio(0.5),
  tenth: ratio(0.1),
  hundredth: ratio(0.01),
  'nearly all': ratio(0.999),
  'parent, or a fifth': { kind: 'parent_threshold', root: ratio(0.2) },
  'all failures, half of the slow ones, a twentieth of the rest': {
    kind: 'rule_based',
    rules: [failures, slow, rest],
  },
};

const ROOTS: Readonly<Record<string, (n: number) => string>> = {
  uuids: uuid4,
  'other texts': (n) => `order-${SEED}-${n}`,
};

for (const [kind, rootOf] of Object.entries(ROOTS)) {
  const facts = Array.from({ length: FINISHED }, (_, n) => finished(n, rootOf));
  const made = spansOf(facts);
  for (const [name, sampler] of Object.entries(SAMPLERS)) {
    test(`what is extrapolated is what there was: ${name}, roots are ${kind}`, () => {
      const kept = spansOf(facts, { sampler, slowAfterMs: 1000 });
      for (const [part, has] of [
        ['process', ({ kind: of }: Span) => of === 'consumer'],
        ['send', ({ kind: of }: Span) => of === 'producer'],
        ['failed', ({ attributes }: Span) => attributes['celery.task.outcome'] === 'failed'],
      ] as const) {
        const all = made.filter(has).length;
        const counts = kept.filter(has).map(adjustedCount);
        const sum = counts.reduce((one, other) => one + other, 0);
        // The variance of the estimate, by the probabilities of those that were kept.
        const deviation = Math.sqrt(counts.reduce((so, count) => so + count * (count - 1), 0));
        assert.ok(Math.abs(sum - all) <= 5 * deviation + 1e-6, `${part}: ${sum} of ${all}, ±${deviation}`);
      }
    });
  }
}
