/** Spans and log records with everything that they may have, for property tests, and usual ones. */

import type { LogRecord } from '../../../src/logger/log-record.ts';
import type { Attributes, Span } from '../../../src/tracer/span.ts';
import { fc } from '../../seed.ts';

/** Also with lone surrogates, which no UTF-8 has. */
export const texts = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 140 }) },
  fc.string({ unit: 'grapheme', maxLength: 140 }),
  fc.string({ unit: fc.constantFrom('\ud800', '\udc00', 'é', '😀', '\u0000', 'a'), maxLength: 80 }),
  fc.integer({ min: 60, max: 40_000 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 30, max: 20_000 }).map((length) => 'ü'.repeat(length)),
);
const numbers = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(0, -0, 127, 128, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -(2 ** 53), 2 ** 62, 2 ** 63, -(2 ** 63)),
);
export const attributes: fc.Arbitrary<Attributes> = fc.dictionary(
  // Not one that is a number: JavaScript moves it to the front.
  fc.string({ maxLength: 30 }).map((name) => `key.${name}`),
  fc.oneof({ weight: 3, arbitrary: texts }, numbers, fc.boolean()),
  { maxKeys: 6, noNullPrototype: true },
);
const times = fc.oneof(
  { weight: 4, arbitrary: fc.double({ min: 1.7e12, max: 1.9e12, noNaN: true }) },
  fc.integer({ min: 0, max: 2 ** 41 }),
  fc.double({ min: 0, max: 2000, noNaN: true }),
  fc.constantFrom(0, -1, 1795311503949.424, 2 ** 53, 9_223_372_036_854, Number.NaN, Number.POSITIVE_INFINITY),
);
const id = (digits: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdefABCDEF'), { minLength: digits, maxLength: digits })
    .map((all) => all.join(''));
const traceStates = fc.constantFrom('', 'ot=th:0', 'ot=th:fd7', 'ot=th:8,vendor=a-b');

export const spans: fc.Arbitrary<Span> = fc.record({
  name: texts,
  kind: fc.constantFrom('producer', 'consumer'),
  traceId: id(32),
  spanId: id(16),
  parentSpanId: fc.oneof(fc.constant(''), id(16)),
  isParentRemote: fc.boolean(),
  flags: fc.constantFrom(0, 1, 2, 3, 255),
  traceState: traceStates,
  startMs: times,
  endMs: times,
  error: fc.option(fc.record({ description: texts }), { nil: undefined }),
  shared: attributes.map((all) =>
    Object.fromEntries(Object.entries(all).map(([key, value]) => [`shared.${key}`, value])),
  ),
  attributes,
  links: fc.array(fc.record({ traceId: id(32), spanId: id(16), attributes }), { maxLength: 2 }),
  events: fc.array(fc.record({ name: texts, timeMs: times, attributes }), { maxLength: 2 }),
});

export const logRecords: fc.Arbitrary<LogRecord> = fc
  .record({
    eventName: texts,
    severityNumber: fc.integer({ min: 1, max: 24 }),
    severityText: fc.constantFrom('INFO', 'WARN', 'ERROR'),
    body: texts,
    timeMs: fc.option(times, { nil: undefined }),
    observedMs: times,
    ids: fc.option(fc.record({ traceId: id(32), spanId: id(16), flags: fc.constantFrom(0, 1, 3) }), {
      nil: { traceId: '', spanId: '', flags: 0 },
    }),
    attributes,
  })
  .map(({ ids, ...rest }) => ({ ...rest, ...ids }));

const SHARED: readonly Attributes[] = Array.from({ length: 20 }, (_, index) => ({
  'messaging.operation.name': 'process',
  'messaging.operation.type': 'process',
  'messaging.system': 'rabbitmq',
  'messaging.system.name': 'rabbitmq',
  'messaging.destination.name': 'orders',
  'server.address': 'rabbit.example',
  'server.port': 5672,
  'celery.task.name': `shop.tasks.task_${index}`,
  'celery.queue.name': 'orders',
  'celery.worker.name': 'worker-1@shop',
}));

/** As of a task that succeeded; each has ids of its own. */
export function usualSpan(index: number): Span {
  const digits = index.toString(16).padStart(8, '0');
  const uuid = `${digits}-6c28-4fe5-aa46-7adb16d15d7d`;
  return {
    name: `process shop.tasks.task_${index % SHARED.length}`,
    kind: 'consumer',
    traceId: uuid.replaceAll('-', ''),
    spanId: `a8e69524${digits}`,
    parentSpanId: `ee4651f2${digits}`,
    isParentRemote: false,
    flags: 3,
    traceState: 'ot=th:0',
    startMs: 1795311503949.424 + index,
    endMs: 1795311504038.901 + index,
    error: undefined,
    shared: SHARED[index % SHARED.length] ?? {},
    attributes: {
      'messaging.message.id': uuid,
      'celery.task.outcome': 'succeeded',
      'celery.task.wait_time': 0.023585,
      'celery.task.queue_time': 0.010117,
      'celery.task.prefetch_time': 0.013468,
    },
    links: [],
    events: [],
  };
}

/** As of a task that failed, with a stack trace of some 2 KB. */
export function usualLogRecord(index: number): LogRecord {
  const { traceId, spanId, startMs } = usualSpan(index);
  return {
    eventName: 'messaging.process.exception',
    severityNumber: 17,
    severityText: 'ERROR',
    body: 'shop.tasks.charge failed: Declined',
    timeMs: startMs,
    observedMs: startMs + 3,
    traceId,
    spanId,
    flags: 3,
    attributes: {
      'exception.type': 'shop.errors.Declined',
      'exception.message': 'no funds',
      'exception.stacktrace': '  File "/srv/shop/tasks.py", line 17, in charge\n    pay(order)\n'.repeat(30),
      'error.type': 'Declined',
      'celery.task.name': 'shop.tasks.charge',
      'messaging.message.id': traceId,
    },
  };
}
