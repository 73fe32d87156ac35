/** What is kept of a trace while it is followed. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { followTrace } from '../../src/cli/follow-trace.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { EVERYTHING, SHOWN } from '../../src/service/telemetry.ts';
import { Log } from '../broker/log.ts';
import { MESSAGE, type Step, scriptedTransports, untilStopped } from '../broker/scripted-transport.ts';
import { event } from '../e2e/publish.ts';
import { serviceAt } from '../service/recorded-service.ts';

const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
/** Its task failed. */
const FAILED = '935bed17-72e7-40ef-aae8-c426fe2575b3';

test('of all traces, neither stack traces nor arguments are kept: the tree shows none', async () => {
  const argv = ['--broker-url', `recording:${RECORDING}?speed=max`, '--service-name', 'shop'];
  const loaded = loadConfig({ argv, env: {} });
  assert(loaded.ok);
  const [service] = loaded.config.services;
  assert(service !== undefined);
  const followed = followTrace(service, {
    id: FAILED,
    settings: { ...EVERYTHING, arguments: true, exceptionEvents: true },
    exceptions: SHOWN,
    report() {},
    random: Math.random,
    signal: new AbortController().signal,
  });
  await followed.done;
  const spans = followed.spans();
  assert(spans.some(({ error }) => error?.description === 'not enough money'));
  for (const { events, attributes } of spans) {
    assert.deepEqual(events, []);
    assert.equal(attributes['celery.task.args'], undefined);
  }
});

const ID = '90817c7f-6c28-4fe5-aa46-7adb16d15d7d';
const NOTHING_AT_ALL = Buffer.from('{}');
/** A run in three messages, and one that is no event. */
const BODIES = [
  ...['task-received', 'task-started', 'task-succeeded'].map((type, clock) =>
    Buffer.from(JSON.stringify(event(type, { uuid: ID, root_id: ID, name: 'shop.pay', clock, runtime: 1 }))),
  ),
  NOTHING_AT_ALL,
];

/** Follows it on a broker that delivers these messages, and then is away for good. */
function followOnce(t: TestContext) {
  const [reported, asked] = [new Log<SelfEvent>(), new Log<string>()];
  const stopping = new AbortController();
  const none = (question: string) => (): Promise<never> => {
    asked.add(question);
    return Promise.reject(new Error('it is not asked'));
  };
  const delivering: Step = ({ isObserver }) => ({
    kind: 'opened',
    session: {
      exchange: isObserver === true ? 'observed' : 'declared',
      ...{ poll: none('poll'), ask: none('ask'), listeners: none('listeners') },
      ...{ instances: none('instances'), elsewhere: none('elsewhere') },
      async receive(deliver) {
        for (const body of BODIES) deliver({ ...MESSAGE, body, arrivedAtMs: Date.now() }, 42, Date.now());
        return { kind: 'lost', reason: 'gone' };
      },
    },
  });
  const followed = followTrace(serviceAt('shop', 'amqp://a'), {
    ...{ id: ID, settings: EVERYTHING, exceptions: SHOWN, random: () => 0, signal: stopping.signal },
    report: (each) => reported.add(each),
    transports: scriptedTransports([delivering, untilStopped]),
  });
  t.after(async () => {
    stopping.abort();
    await followed.done;
  });
  return { followed, reported, asked };
}

test('what was held when a connection ended is shown while there is no other, and nothing was asked', async (t) => {
  const { followed, asked } = followOnce(t);
  while (followed.spans().length === 0) await delay(5);
  assert.deepEqual(
    followed.spans().map(({ attributes }) => attributes['messaging.message.id']),
    [ID],
  );
  assert.equal(followed.open(), 0);
  assert.deepEqual(asked.items, []);
});

test('what cannot be read is reported for its service, and nothing else but the connection is', async (t) => {
  const { reported } = followOnce(t);
  const connected = await reported.find(({ kind }) => kind === 'broker-connected');
  assert.equal('exchange' in connected && connected.exchange, 'observed');
  const dropped = await reported.find(({ kind }) => kind === 'input-dropped');
  assert.equal('service' in dropped && dropped.service, 'shop');
  await reported.find(({ kind }) => kind === 'broker-session-ended');
  assert.deepEqual(
    reported.items.map(({ kind }) => kind),
    ['broker-connected', 'input-dropped', 'broker-session-ended'],
  );
});
