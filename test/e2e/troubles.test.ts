/**
 * Twenty services of one bridge, and the troubles that they share: a wrong password, a backend that refuses or is slow, an alarm of the
 * broker, a second bridge, and a broker that goes away. Each is one problem with its cause, in the status, in `top` and
 * on the page; the wrong password in `check`, too.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status as grpc } from '@grpc/grpc-js';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { celeryFlavours } from '../real/celery.ts';
import { startRabbitmq } from '../real/rabbitmq.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { serviceFile } from './service-file.ts';
import { employ } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';
import { lookEverywhere, type Status, statusOf, statusUrl } from './shown-everywhere.ts';

const HEALTHY = Array.from({ length: 19 }, (_, index) => `service-${index + 1}`);
const WRONG = 'wrong-password';
const INTERVAL_MS = 1000;

test('what twenty services share is one problem with one cause, and the others stay fine', async (t) => {
  const { showsEverywhere } = lookEverywhere(t);
  const [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  t.after(() => Promise.all([rabbitmq.remove(), redis.stop()]));
  let answer: 'accept' | 'refuse' | 'wait' = 'accept';
  const waiting = Promise.withResolvers<void>();
  const backend = await startReceiver({
    refuse: () => (answer === 'refuse' ? { code: grpc.UNAUTHENTICATED, details: 'no token' } : undefined),
    hold: () => (answer === 'wait' ? waiting.promise : Promise.resolve()),
  });
  const well = await startReceiver();
  t.after(() => {
    waiting.resolve();
    return Promise.all([backend.stop(), well.stop()]);
  });
  const [flavour] = celeryFlavours().toReversed();
  assert.ok(flavour !== undefined);
  const cluster = { flavour, broker: rabbitmq.url, backend: redis.url };
  await employ(t, { ...cluster, nodename: 'steady', queues: ['orders'] });
  const settings = { collection_interval: 1, initial_delay: 0.1 };
  const fileWith = (endpoint: string) =>
    serviceFile(t, {
      services: {
        ...Object.fromEntries(HEALTHY.map((name) => [name, { ...settings, broker_url: rabbitmq.url }])),
        [WRONG]: { ...settings, broker_url: rabbitmq.url.replace('guest:guest', 'guest:no') },
      },
      ...{ common: { status: { address: '0' } }, endpoint, intervalMs: INTERVAL_MS },
    });
  const bridge = startBridge(t, {}, ['run', '--config', fileWith(backend.url)]);
  const url = await statusUrl(bridge);
  let last: Status | undefined;
  /** Until these are the problems, each as its code, grade and number of services. */
  const problems = (...expected: readonly string[]) =>
    until(
      expected.join('; '),
      async () => {
        const found = await statusOf(url);
        last = found;
        const shown = found.problems.map((each) => `${each.code} ${each.grade} ${each.service_count}`);
        return shown.join('; ') === expected.join('; ') && found;
      },
      () => JSON.stringify(last?.problems),
    );
  const refused = 'broker-refused down 1';

  await sendTasks(cluster, [{ task: 'shop.check_stock', args: ['cup'] }]);
  const { services, problems: one } = await problems(refused);
  assert.deepEqual(one[0]?.services, [WRONG]);
  await until('the others are fine', async () => {
    const found = await problems(refused);
    return found.services.every(({ name, grade }) => grade === (name === WRONG ? 'down' : 'fine'));
  });
  assert.equal(services.length, 20);
  assert.equal((await fetch(`${url}/readyz`)).status, 200, 'one wrong password makes nothing unready');
  // It lasts, and has a backend of its own, to which nothing happens.
  const ofCheck = fileWith(well.url);
  const checked = startBridge(t, {}, ['check', '--config', ofCheck, '--seconds', '20']).ended();
  await showsEverywhere(url, 'broker-refused');

  answer = 'refuse';
  // Its own metrics go to the same backend; the one that never connected has none.
  const { problems: refusing } = await problems('backend-unavailable down 20', refused);
  assert.match(refusing[0]?.line ?? '', /access denied: .*no token/u);
  await showsEverywhere(url, 'backend-unavailable', 'broker-refused');
  answer = 'wait';
  await until('all of them know that it is slow', async () => {
    const [slow] = (await problems('backend-unavailable down 20', refused)).problems;
    return / is not available: DEADLINE_EXCEEDED \(4\): no reply within \d+ ms$/u.test(slow?.line ?? '');
  });
  await showsEverywhere(url, 'backend-unavailable', 'broker-refused');
  answer = 'accept';
  waiting.resolve();
  await problems(refused);
  const { code, stdout } = await checked;
  assert.equal(code, 2, stdout);
  assert.match(stdout, /^ {2}✗ \S+ refuses the connection: /mu);
  assert.match(stdout, /^Down: 1 down/mu);

  await rabbitmq.setAlarm(true);
  await problems('publishers-blocked down 19', refused);
  await rabbitmq.setAlarm(false);
  await problems(refused);

  await rabbitmq.stop();
  // The one that was refused never had it, and has other advice.
  const { services: away } = await problems('broker-unreachable down 19', 'broker-unreachable down 1');
  await showsEverywhere(url, 'broker-unreachable');
  assert.ok(away.filter(({ as_of }) => as_of !== null).length >= HEALTHY.length);
});
