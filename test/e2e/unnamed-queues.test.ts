/** Queues of a real RabbitMQ that no event, worker or option names: found by its management API, if that is given. */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { connect } from 'amqplib';
import { QueueListing } from '../../src/broker/amqp/management.ts';
import { parseManagementUrl } from '../../src/broker/broker-url.ts';
import { addressOf } from '../broker/observed-session.ts';
import { runInProcess } from '../cli/process-io.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { vhostOf } from '../real/lent-rabbitmq.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { until } from '../until.ts';
import { ownMetric } from './own-metrics.ts';
import { gauge, startBrokerPolls } from './queue-polls.ts';

/** No management API lists more of them on one page. */
const PAGE_SIZE = 500;
const FORGOTTEN = 'forgotten\u001b[31m %/é';
const NEVER = new AbortController().signal;

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq({ management: true });
});
after(() => rabbitmq?.remove());

/** A virtual host of its own with a queue of five messages, which nothing names and nobody consumes. */
async function neglected(t: TestContext, name: string) {
  const url = await rabbitmq.addVhost(name);
  const model = await connect(url);
  t.after(() => model.close());
  const channel = await model.createConfirmChannel();
  await channel.assertQueue(FORGOTTEN, { durable: true });
  for (let left = 5; left > 0; left -= 1) channel.sendToQueue(FORGOTTEN, Buffer.from('x'));
  await channel.waitForConfirms();
  return { url, vhost: vhostOf(url), channel };
}

/** The address of the API with a login. */
function withLogin(login = 'guest:guest'): string {
  return String(rabbitmq.managementUrl).replace('//', `//${login}@`);
}

async function listedFor(url: string, management: string) {
  const parsed = parseManagementUrl(management);
  const address = addressOf(url);
  if (!(parsed.ok && 'vhost' in address)) throw new Error('no address of RabbitMQ');
  return await new QueueListing(parsed.url).read(address, NEVER);
}

async function check(url: string, more: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr } = await runInProcess(['check', '--seconds', '2'], {
    CELERY_BROKER_URL: url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    ...more,
  });
  return { lines: stdout, all: stdout + stderr };
}

const WAITING = 'queue forgotten\\u001b[31m %/é: 5 waiting, and no worker consumes it';

describe('queues that nobody named', { concurrency: true }, () => {
  test('without management_url, check says that it looked only at those that it knows, and names the option', async (t) => {
    const { url } = await neglected(t, 'unlisted');
    const { lines } = await check(url, { CELERY_OTEL_QUEUES: 'orders' });
    assert.ok(!lines.includes('forgotten'), lines);
    const { channel } = await neglected(t, 'unlisted-too');
    await channel.assertQueue('orders');
    const known = await check(url.replace('unlisted', 'unlisted-too'), { CELERY_OTEL_QUEUES: 'orders' });
    assert.match(known.lines, /RabbitMQ did not list its queues: looked at orders\n +Set management_url/u);
  });

  test('with it, check finds a queue with messages and no consumer, and knows of all queues', async (t) => {
    const { url } = await neglected(t, 'listed');
    const { lines } = await check(url, { CELERY_OTEL_MANAGEMENT_URL: String(rabbitmq.managementUrl) });
    assert.ok(lines.includes(WAITING), lines);
    assert.doesNotMatch(lines, /did not list its queues|incomplete/u);
    const parked = await check(url, {
      CELERY_OTEL_MANAGEMENT_URL: String(rabbitmq.managementUrl),
      CELERY_OTEL_PARKED_QUEUES: 'dead.*,forgotten*',
    });
    assert.match(parked.lines, /✓ queue forgotten.*: 5 waiting, 0 consumers/u);
  });

  test('with it, the bridge exports its length, and what it hears of a failure is a partial poll', async (t) => {
    const { url, channel } = await neglected(t, 'exported');
    const { sink, bridge } = await startBrokerPolls(t, url, {
      CELERY_OTEL_MANAGEMENT_URL: String(rabbitmq.managementUrl),
    });
    const length = (queue: string) => (points: Parameters<typeof gauge>[0]) =>
      gauge(points, 'celery.queue.length', queue) === 5;
    const points = await sink.waitFor('shop', length(FORGOTTEN), DEADLINE_MS);
    assert.equal(gauge(points, 'celery.queue.consumers', FORGOTTEN), 0);
    bridge.signal('SIGTERM');
    await bridge.ended();
    await channel.assertQueue('orders');
    const refused = await startBrokerPolls(t, url, {
      CELERY_OTEL_MANAGEMENT_URL: withLogin('guest:wrong-password'),
    });
    await refused.bridge.logged(
      /did not report everything about the queues of shop: management_url http:\/\/guest:\*\*\*@.*HTTP 401/u,
    );
    await refused.sink.waitFor(
      'celery-otel',
      (own) => ownMetric(own, 'shop', 'broker.polls', { 'celery_otel.poll.outcome': 'partial' }) >= 1,
      DEADLINE_MS,
    );
    // The queues that it knows are polled as ever.
    await refused.sink.waitFor(
      'shop',
      (own) => gauge(own, 'celery.queue.length', 'orders') === 0,
      DEADLINE_MS,
    );
    assert.ok(!refused.bridge.log().includes('wrong-password'));
  });

  test('a wrong password, a user without the tag and a missing virtual host each have their remedy', async (t) => {
    const { url, vhost } = await neglected(t, 'refused');
    const all = { configure: '.*', write: '.*', read: '.*' };
    await rabbitmq.allow('plain', 'pw', all, vhost);
    const problem = async (management: string, broker = url): Promise<string> => {
      const { names, areAll, incomplete } = await listedFor(broker, management);
      assert.deepEqual([names, areAll], [[], false]);
      return incomplete.join();
    };
    assert.match(
      await problem(withLogin('guest:wrong')),
      /the user or the password is refused: correct the user and password/u,
    );
    assert.match(
      await problem(withLogin('plain:pw')),
      /the user may not list the queues: give the user the tag/u,
    );
    await rabbitmq.ctl('set_user_tags', 'plain', 'management');
    assert.deepEqual((await listedFor(url, withLogin('plain:pw'))).names, [FORGOTTEN]);
    await rabbitmq.ctl('set_user_tags', 'plain', 'monitoring');
    assert.deepEqual((await listedFor(url, withLogin('plain:pw'))).names, [FORGOTTEN]);
    await rabbitmq.ctl('clear_permissions', '-p', vhost, 'plain');
    await rabbitmq.ctl('set_user_tags', 'plain', 'management');
    assert.match(await problem(withLogin('plain:pw')), /a permission in the virtual host/u);
    assert.match(await problem(withLogin(), `${url}-missing`), /there is no virtual host "refused-missing"/u);
    const { lines } = await check(url, { CELERY_OTEL_MANAGEMENT_URL: withLogin('guest:wrong-too') });
    assert.match(lines, /report on the queues is incomplete: management_url .*the user or the password/u);
    assert.ok(!lines.includes('wrong-too'));
  });

  test('several pages are one list, the longest queues first, without queues of clients', async (t) => {
    const { url, channel } = await neglected(t, 'pages');
    const names = Array.from({ length: PAGE_SIZE + 10 }, (_, index) => `q${index}`);
    for (const name of names) await channel.assertQueue(name, { durable: false });
    for (const name of ['celeryev.1', 'w1@h.celery.pidbox', 'celery_delayed_3'])
      await channel.assertQueue(name, { durable: false });
    await channel.assertQueue('result', { durable: false, autoDelete: true });
    await channel.assertQueue('reply', { exclusive: true });
    const listed = await until('all of them', async () => {
      const found = await listedFor(url, withLogin());
      return found.names.length > PAGE_SIZE && found;
    });
    assert.equal(listed.names[0], FORGOTTEN);
    assert.deepEqual([...listed.names].sort(), [...names, FORGOTTEN, 'celery_delayed_3'].sort());
    assert.deepEqual([listed.areAll, listed.incomplete], [true, []]);
  });
});
