/** Attributes of spans: where they come from, what is left out, and what spans share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedRun, SentFacts } from '../../src/tracer/ancestry/finished.ts';
import { ServiceNames } from '../../src/tracer/service-names.ts';
import { SharedAttributes } from '../../src/tracer/shared-attributes.ts';
import type { Span } from '../../src/tracer/span.ts';
import type { TraceSettings } from '../../src/tracer/trace-settings.ts';
import {
  attributesOf,
  BROKER,
  lone,
  onlySpan,
  PARENT,
  REDACTION,
  run,
  SETTINGS,
  sent,
  T0_MS,
  tracer,
} from './finished-facts.ts';

function spansOf(of: Partial<FinishedRun>, settings: Partial<TraceSettings> = {}, broker = BROKER) {
  return tracer(settings, broker).trace(run(of)).spans;
}

function processOf(of: Partial<FinishedRun>, settings: Partial<TraceSettings> = {}) {
  const span = spansOf(of, settings).at(-1);
  assert.ok(span);
  return attributesOf(span);
}

/** Of the sending, and of the run. */
function destinations(of: Partial<SentFacts>, queue = 'orders') {
  const identity = { task: 'shop.charge', queue, worker: 'w1@h' };
  return spansOf({ run: identity, sent: sent(of) }).map(
    (span) => attributesOf(span)['messaging.destination.name'],
  );
}

test('destinations: the queue, or the exchange and what comes after it, equal parts once', () => {
  assert.deepEqual(destinations({}), ['orders', 'orders']);
  assert.deepEqual(destinations({ exchange: 'shop', routingKey: 'charge' }), [
    'shop:charge',
    'shop:charge:orders',
  ]);
  assert.deepEqual(destinations({ exchange: 'shop', routingKey: 'orders' }), ['shop:orders', 'shop:orders']);
  assert.deepEqual(destinations({ exchange: 'orders', routingKey: 'orders' }), ['orders', 'orders']);
  assert.deepEqual(destinations({ exchange: 'shop', routingKey: '' }), ['shop', 'shop:orders']);
  assert.deepEqual(destinations({ exchange: 'shop', routingKey: 'charge' }, 'unknown'), [
    'shop:charge',
    'shop:charge',
  ]);
  assert.deepEqual(destinations({ queue: 'unknown' }, 'unknown'), [undefined, undefined]);
  assert.equal(processOf({})['messaging.destination.name'], 'orders');
});

test('a recording has no broker, and Redis no port that is not told', () => {
  const none = { system: undefined, address: '', port: undefined };
  const keys = Object.keys(attributesOf(onlySpan(spansOf({}, {}, none))));
  assert.deepEqual(
    keys.filter((key) => /^server\.|system/.test(key)),
    [],
  );
  const redis = { system: 'redis', address: 'cache', port: undefined } as const;
  const of = attributesOf(onlySpan(spansOf({}, {}, redis)));
  assert.equal(of['messaging.system'], 'redis');
  assert.equal(of['messaging.system.name'], 'redis');
  assert.equal(of['server.address'], 'cache');
  assert.ok(!('server.port' in of));
});

test('the client is the sender, or the worker; its host is what follows the first @', () => {
  const client = (of: Partial<FinishedRun>) =>
    spansOf(of).map((span) => [attributesOf(span)['messaging.client.id'], attributesOf(span)['host.name']]);
  assert.deepEqual(client({ sent: sent() }), [
    ['gen1@web', 'web'],
    ['w1@h', 'h'],
  ]);
  const identity = { task: 'shop.charge', queue: 'orders', worker: 'w1@a@b' };
  assert.deepEqual(client({ run: identity, sent: sent({ sender: 'web' }) }), [
    ['web', undefined],
    ['w1@a@b', 'a@b'],
  ]);
});

test('waits are the numbers of the metrics; what is not known is left out', () => {
  const waits = { waitTimeS: 1.5, queueTimeS: 0, prefetchTimeS: 0.25 };
  const of = processOf(waits);
  assert.equal(of['celery.task.wait_time'], 1.5);
  assert.equal(of['celery.task.queue_time'], 0);
  assert.equal(of['celery.task.prefetch_time'], 0.25);
  const without = processOf({ waitTimeS: Number.NaN, queueTimeS: Number.POSITIVE_INFINITY });
  assert.deepEqual(
    Object.keys(without).filter((key) => key.endsWith('_time')),
    [],
  );
});

test('ids of the root and the parent are there only where the trace does not say them', () => {
  const ids = (of: Partial<FinishedRun>, settings: Partial<TraceSettings> = {}) => {
    const all = processOf(of, settings);
    return [all['celery.task.root_id'], all['celery.task.parent_id']];
  };
  const child = { rootId: PARENT, parentId: PARENT };
  assert.deepEqual(ids(child), [undefined, undefined]);
  assert.deepEqual(ids({ ...child, isParentUnknown: true }), [undefined, PARENT]);
  assert.deepEqual(ids({ ...child, rootId: 'order-17' }), ['order-17', undefined]);
  const joined = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  assert.deepEqual(ids({ ...child, rootId: joined }, { join: true }), [joined, undefined]);
  assert.deepEqual(ids({ rootId: '', traceRootId: '' }), [undefined, undefined]);
});

test('control characters in names and ids are escaped', () => {
  const id = 'order\u001b[31m\n17';
  const shown = 'order\\u001b[31m\\u000a17';
  const identity = { task: id, queue: 'orders', worker: 'w1@h' };
  const span = onlySpan(spansOf({ run: identity, uuid: id, rootId: id, parentId: id }));
  assert.equal(span.name, `process ${shown}`);
  assert.equal(attributesOf(span)['messaging.message.id'], shown);
  const child = processOf({ rootId: id, parentId: id, isParentUnknown: true });
  assert.deepEqual([child['celery.task.root_id'], child['celery.task.parent_id']], [shown, shown]);
});

test('slow is what ran for long enough', () => {
  const slow = (of: Partial<FinishedRun>) => processOf(of, { slowAfterMs: 100 })['celery.task.slow'];
  assert.equal(slow({}), true);
  assert.equal(slow({ endedMs: T0_MS + 119 }), undefined);
  assert.equal(slow({ runtimeS: 0.099 }), undefined);
  assert.equal(slow({ runtimeS: 0.1, startedMs: undefined }), true);
  assert.equal(slow({ outcome: 'expired', startedMs: undefined }), undefined);
  assert.equal(processOf({})['celery.task.slow'], undefined);
  assert.equal(processOf({}, { slowAfterMs: 0 })['celery.task.slow'], true);
});

test('the sending tells the ETA and the expiry as ISO text', () => {
  const [send] = spansOf({ sent: sent({ etaMs: T0_MS, expiresMs: 8.64e18 }) });
  assert.ok(send);
  assert.equal(attributesOf(send)['celery.task.eta'], new Date(T0_MS).toISOString());
  assert.equal(attributesOf(send)['celery.task.expires'], undefined);
});

test('arguments only where they are wanted, and redacted', () => {
  const texts = { args: "('hunter2',)", kwargs: "{'a': 1}", result: 'None' };
  const of = { ...texts, sent: sent({ args: "('hunter2',)" }) };
  const [send, process] = spansOf(of, { arguments: true }).map(attributesOf);
  assert.equal(send?.['celery.task.args'], "('***',)");
  assert.equal(send?.['celery.task.result'], undefined);
  assert.equal(process?.['celery.task.args'], "('***',)");
  assert.equal(process?.['celery.task.kwargs'], "{'a': 1}");
  assert.equal(process?.['celery.task.result'], 'None');
  const without = spansOf(of).flatMap((span) => Object.keys(attributesOf(span)));
  assert.deepEqual(
    without.filter((key) => /args|result/.test(key)),
    [],
  );
});

test('texts are cut at the limit, between characters', () => {
  const of = { outcome: 'failed', errorType: '12345😀', args: 'x'.repeat(20) } as const;
  const all = processOf(of, { attributeValueLengthMax: 6, arguments: true });
  assert.equal(all['error.type'], '12345\ufffd');
  assert.equal(all['celery.task.args'], 'xxxxxx');
  assert.equal(all['celery.task.name'], 'shop.c');
  assert.equal(all['celery.task.outcome'], 'failed');
});

test('spans of the same names share one object, others never do', () => {
  const made = tracer();
  const shared = (of: Partial<FinishedRun>): readonly Span['shared'][] =>
    made.trace(run(of)).spans.map((span) => span.shared);
  const [send, process] = shared({ sent: sent() });
  assert.deepEqual(shared({ sent: sent({ sender: 'gen2@web' }), outcome: 'failed' }), [send, process]);
  assert.equal(shared({ sent: sent() })[0], send);
  assert.equal(shared({ sent: sent() })[1], process);
  assert.equal(shared({})[0], process);
  assert.equal(made.trace(lone()).spans[0]?.shared, send);
  const cache = new SharedAttributes(
    { settings: SETTINGS, broker: BROKER, redaction: REDACTION },
    new ServiceNames([]),
  );
  const names = (task: string, queue: string, worker: string) =>
    cache.of({ operation: 'process', task, queue, worker, destination: 'q' });
  const apart = [names('a', 'bc', 'd'), names('ab', 'c', 'd'), names('a', 'b', 'cd')];
  assert.equal(new Set(apart).size, 3);
});
