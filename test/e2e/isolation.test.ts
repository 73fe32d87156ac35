/**
 * Six services of one bridge: three share a broker in different ways, and three have brokers that fail in different
 * ways. A failure is logged and counted under its own name, and the others are exported as if they were alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import type { Receiver } from '../../examples/demo/otlp-receiver.ts';
import type { BridgeProcess } from './bridge-process.ts';
import { countedTasks } from './counted.ts';
import { ownMetric } from './own-metrics.ts';
import { eventsOf, FAILING, HEALTHY, NAMES, sessions, sixServices } from './six-services.ts';
import { countsOf, WORKER } from './task-lives.ts';

test('three services count exactly on a shared broker while three others have no broker, and one loses its own', async (t) => {
  const { bridge, sink, seen, own } = await sixServices(t);
  assertCounted(sink);
  assert.deepEqual(
    seen.tasks(),
    { shop: ['shop.pay'], billing: ['billing.invoice'], mail: ['mail.send'] },
    'at no time was anything counted elsewhere',
  );
  assertResources(sink);
  assertOwnMetrics(own);
  assertLog(bridge);
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  assert.doesNotMatch(`${bridge.log()}${seen.text()}`, /pa55/u, 'the password is nowhere');
});

/** Its own tasks are all there is. */
function assertCounted(sink: Receiver): void {
  for (const name of NAMES) {
    const { task, lives: each, rounds } = HEALTHY[name];
    const points = sink.latest(name);
    assert.deepEqual(countedTasks(points), { [task]: countsOf(each * rounds) }, name);
    assert.equal(total(points, 'celery.worker.up', { 'celery.worker.name': WORKER }), 1, name);
  }
  for (const name of Object.keys(FAILING)) assert.deepEqual(sink.latest(name), [], name);
}

/** Each has the attributes of its own, and none of the others'. */
function assertResources(sink: Receiver): void {
  const extra = new Set(NAMES.flatMap((name) => Object.keys(HEALTHY[name].resource)));
  for (const name of NAMES) {
    for (const { resource } of sink.latest(name)) {
      const own = Object.entries(resource).filter(([key]) => extra.has(key));
      assert.deepEqual(Object.fromEntries(own), HEALTHY[name].resource, name);
    }
  }
}

function assertOwnMetrics(points: readonly Point[]): void {
  const connected = points
    .filter(({ metric }) => metric === 'celery_otel.broker.connected')
    .map(({ attributes, value }) => [attributes['celery_otel.service'], value]);
  assert.deepEqual(Object.fromEntries(connected), {
    ...{ shop: 1, billing: 0, mail: 1 },
    ...{ gone: 0, silent: 0, wrong: 0 },
  });
  for (const name of ['shop', 'mail'])
    assert.equal(sessions(points, name), 0, `${name} never lost its broker`);
  for (const [name, end] of Object.entries(FAILING))
    assert.equal(sessions(points, name), sessions(points, name, end), `${name}: ${end} each time`);
  assert.equal(sessions(points, 'billing', 'lost'), 1);
  assert.equal(total(points, 'celery_otel.broker.connections'), 3, 'those that have a broker, once each');
  for (const name of NAMES) assert.equal(ownMetric(points, name, 'events'), eventsOf(name), name);
}

/** A repeated failure is logged once. */
function assertLog(bridge: BridgeProcess): void {
  const lines = bridge.log().trimEnd().split('\n').map(parseLine);
  const reported = (service: string) =>
    lines.filter(({ kind, service: of }) => kind === 'broker-session-ended' && of === service);
  const reasons = { wrong: /ACCESS.REFUSED/u, gone: /ECONNREFUSED/u, silent: /no reply within 1000 ms/u };
  for (const [name, reason] of Object.entries(reasons)) {
    const [line, ...others] = reported(name);
    assert.match(line?.msg ?? '', reason);
    assert.equal(line?.level, 'warn');
    assert.deepEqual(others, [], `${name} is told of once a minute`);
  }
  for (const name of ['shop', 'mail']) assert.deepEqual(reported(name), []);
  const [lost, refused, ...others] = reported('billing').map(({ msg }) => msg);
  assert.match(lost ?? '', /deleted/u);
  // RabbitMQ says so in several ways while it deletes a virtual host.
  assert.match(refused ?? '', /virtual host/u);
  assert.deepEqual(others, []);
}

function parseLine(text: string): Readonly<Record<'kind' | 'service' | 'level' | 'msg', string>> {
  const line: unknown = JSON.parse(text);
  const field = (key: string) =>
    typeof line === 'object' && line !== null ? String(Reflect.get(line, key)) : '';
  return { kind: field('kind'), service: field('service'), level: field('level'), msg: field('msg') };
}
