/** Facts that anybody may have made up: nothing throws, ids stay valid, texts can be encoded, memory stays bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finished, FinishedOutcome } from '../../src/tracer/ancestry/finished.ts';
import { ServiceNames } from '../../src/tracer/service-names.ts';
import { SharedAttributes } from '../../src/tracer/shared-attributes.ts';
import type { Span } from '../../src/tracer/span.ts';
import { HOSTILE } from '../hostile-text.ts';
import { fc } from '../seed.ts';
import { attributesOf, BROKER, lone, REDACTION, run, SETTINGS, sent, tracer } from './finished-facts.ts';

const OUTCOME_NAMES: readonly FinishedOutcome[] = ['failed', 'lost', 'replaced', 'retried', 'succeeded'];

const text = fc.oneof(
  fc.constantFrom('', HOSTILE, '\ud800', '\udc00\ud800', '\u0000', '__proto__', 'constructor', 'toString'),
  fc.constantFrom('0', '12345', 'x'.repeat(200_000), `00-${'a'.repeat(32)}-${'b'.repeat(16)}-ff`),
  fc.string({ unit: 'binary', maxLength: 60 }),
);
const number = fc.oneof(
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, -1, 1e300, 2 ** 63),
  fc.double(),
);
const maybe = fc.option(number, { nil: undefined });
const place = fc.record({ retries: number, delivery: number });
const lineage = {
  uuid: text,
  rootId: text,
  parentId: text,
  traceRootId: text,
  parentTraceRootId: text,
  parentPlace: place,
  beginsTrace: fc.boolean(),
  isParentUnknown: fc.boolean(),
  reportedMs: number,
};
const sending = fc
  .record({ name: text, queue: text, exchange: text, routingKey: text, sender: text, args: text })
  .chain((texts) =>
    fc.record({ sentMs: maybe, etaMs: maybe, expiresMs: maybe }).map((o) => ({ ...texts, ...o })),
  )
  .map(sent);
const runs = fc.record({
  ...lineage,
  run: fc.record({ task: text, queue: text, worker: text }),
  outcome: fc.constantFrom(...OUTCOME_NAMES),
  errorType: text,
  error: fc.option(fc.record({ path: text, message: text, stacktrace: text }), { nil: undefined }),
  sent: fc.option(sending, { nil: undefined }),
  isSentNew: fc.boolean(),
  previous: fc.option(
    place.map((at) => ({ ...at, link: 'retry_of' as const })),
    { nil: undefined },
  ),
  retries: number,
  delivery: number,
  receivedMs: maybe,
  startedMs: maybe,
  endedMs: maybe,
  runtimeS: maybe,
  waitTimeS: maybe,
  args: text,
  result: text,
});
const facts: fc.Arbitrary<Finished> = fc.oneof(
  runs.map(run),
  fc.record({ ...lineage, sent: sending }).map(lone),
);

function check(span: Span): void {
  assert.match(span.traceId, /^(?!0+$)[0-9a-f]{32}$/);
  assert.match(span.spanId, /^(?!0+$)[0-9a-f]{16}$/);
  assert.match(span.parentSpanId, /^(?:(?!0+$)[0-9a-f]{16})?$/);
  assert.notEqual(span.spanId, span.parentSpanId);
  assert.ok(span.startMs >= 0 && span.startMs <= span.endMs && span.endMs < 1.85e13);
  const texts = [span.name, span.error?.description ?? ''];
  for (const attributes of [attributesOf(span), ...span.events.map((event) => event.attributes)]) {
    for (const [key, value] of Object.entries(attributes)) {
      assert.match(key, /^[a-z]+(?:[._][a-z]+)+$/);
      if (typeof value === 'string') texts.push(value);
      else assert.ok(typeof value === 'boolean' || Number.isFinite(value), key);
    }
  }
  for (const one of texts) assert.ok(one.isWellFormed());
}

test('whatever is told, spans are valid', () => {
  const settings = { arguments: true, exceptionEvents: true, join: true, slowAfterMs: 1, maxAgeMs: 1 };
  const made = tracer({ ...settings, newTraceFor: ['*x'] });
  fc.assert(
    fc.property(facts, text, number, number, (finished, name, delayMs, atMs) => {
      made.beginsTrace({ name, traceRootId: finished.traceRootId, delayMs, atMs });
      const traced = made.trace(finished);
      traced.spans.forEach(check);
      if (traced.context === undefined) assert.equal(traced.droppedUnknownRoot, true);
      else assert.equal(traced.context.spanId, traced.spans.at(-1)?.spanId);
    }),
    { numRuns: 1000 },
  );
});

test('shared attributes are bounded in number and in characters', () => {
  const shared = new SharedAttributes(
    { settings: SETTINGS, broker: BROKER, redaction: REDACTION },
    new ServiceNames([]),
  );
  const names = { operation: 'process', queue: 'q', worker: 'w@h', destination: 'q' } as const;
  for (let n = 0; n < 30_000; n += 1) shared.of({ ...names, task: `task-${n}` });
  assert.ok(shared.size <= 10_000, `${shared.size}`);
  const long = 'x'.repeat(200_000);
  for (let n = 0; n < 100; n += 1) shared.of({ ...names, task: `${long}${n}` });
  assert.ok(shared.size <= 10, `${shared.size}`);
});
