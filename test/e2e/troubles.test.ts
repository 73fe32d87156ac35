/**
 * Twenty services of one bridge, and the troubles that they share: a wrong password, a backend that refuses or is slow, an alarm of the
 * broker, a second bridge, and a broker that goes away. Each is one problem with its cause, in the status, in `top` and in `check`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status as grpc } from '@grpc/grpc-js';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { celeryFlavours, startWorker } from '../real/celery.ts';
import { startRabbitmq } from '../real/rabbitmq.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { serviceFile } from './service-file.ts';
import { sendTasks } from './shop-tasks.ts';

const HEALTHY = Array.from({ length: 19 }, (_, index) => `service-${index + 1}`);
const WRONG = 'wrong-password';
const INTERVAL_MS = 1000;

interface Problem {
  readonly code: string;
  readonly grade: string;
  readonly line: string;
  readonly services: readonly string[];
  readonly service_count: number;
}

interface Status {
  readonly grade: string;
  readonly problems: readonly Problem[];
  readonly services: readonly {
    readonly name: string;
    readonly grade: string;
    readonly as_of: string | null;
  }[];
}

test('what twenty services share is one problem with one cause, and the others stay fine', async (t) => {
  const [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  t.after(() => Promise.all([rabbitmq.remove(), redis.stop()]));
  let answer: 'accept' | 'refuse' | 'wait' = 'accept';
  const waiting = Promise.withResolvers<void>();
  const backend = await startReceiver({
    refuse: () => (answer === 'refuse' ? { code: grpc.UNAUTHENTICATED, details: 'no token' } : undefined),
    hold: () => (answer === 'wait' ? waiting.promise : Promise.resolve()),
  });
  t.after(() => {
    waiting.resolve();
    return backend.stop();
  });
  const [flavour] = celeryFlavours().toReversed();
  assert.ok(flavour !== undefined);
  const cluster = { flavour, broker: rabbitmq.url, backend: redis.url };
  const worker = await startWorker({ ...cluster, nodename: 'steady', queues: ['orders'] });
  t.after(() => worker.kill());
  const settings = { collection_interval: 1, initial_delay: 0.1 };
  const file = serviceFile(t, {
    services: {
      ...Object.fromEntries(HEALTHY.map((name) => [name, { ...settings, broker_url: rabbitmq.url }])),
      [WRONG]: { ...settings, broker_url: rabbitmq.url.replace('guest:guest', 'guest:no') },
    },
    ...{ common: { status: { address: '0' } }, endpoint: backend.url, intervalMs: INTERVAL_MS },
  });
  const bridge = startBridge(t, {}, ['run', '--config', file]);
  await bridge.logged(/status at http/u);
  const url = /status at (http:\/\/[\d.:]+)\/status\.json/u.exec(bridge.log())?.[1] ?? '';
  let last: Status | undefined;
  /** Until these are the problems, each as its code, grade and number of services. */
  const problems = (...expected: readonly string[]) =>
    until(
      expected.join('; '),
      async () => {
        const found: Status = JSON.parse(await (await fetch(`${url}/status.json`)).text());
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
  const top = startBridge(t, {}, ['top', url, '--once']);
  assert.match((await top.ended()).stdout, /Down: wrong-password: .*guest.*since/u);
  const checked = startBridge(t, {}, ['check', '--config', file, '--seconds', '20']);
  const { code, stdout } = await checked.ended();
  assert.equal(code, 2, stdout);
  assert.match(stdout, /^Down: 1 down/mu);

  answer = 'refuse';
  // Its own metrics go to the same backend; the one that never connected has none.
  await problems('backend-unavailable down 20', refused);
  answer = 'wait';
  const { problems: slow } = await problems('backend-unavailable down 20', refused);
  assert.ok(slow.length === 2);
  answer = 'accept';
  waiting.resolve();
  await problems(refused);

  await rabbitmq.ctl('set_vm_memory_high_watermark', '0.0000001');
  await problems('publishers-blocked down 19', refused);
  await rabbitmq.ctl('set_vm_memory_high_watermark', '0.9');
  await problems(refused);

  await rabbitmq.stop();
  // The one that was refused never had it, and has other advice.
  const { services: away } = await problems('broker-unreachable down 19', 'broker-unreachable down 1');
  assert.ok(away.filter(({ as_of }) => as_of !== null).length >= HEALTHY.length);
});
