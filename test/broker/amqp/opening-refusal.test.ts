/** What a real RabbitMQ says when it does not open a virtual host, which amqplib drops. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { closeConnection, connectTo } from '../../../src/broker/amqp/connection.ts';
import { refusalOf } from '../../../src/broker/amqp/opening-refusal.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { listenOnLoopback } from '../../otlp/send/loopback-server.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../../real/lent-rabbitmq.ts';
import { amqpAddressOf } from '../observed-session.ts';

let rabbitmq: Vhosts;
before(async () => {
  rabbitmq = await borrowRabbitmq();
});
after(() => rabbitmq?.remove());

const SETTINGS = { heartbeatS: 0 };
const signal = AbortSignal.timeout(DEADLINE_MS);

/** @returns with what a connection is refused, without and with TLS */
async function refusals(url: string) {
  const { tlsUrl = '', caFile = '' } = rabbitmq;
  const secure = `${tlsUrl.replace(/\/\/$/u, `/${encodeURIComponent(vhostOf(url))}`)}?ssl_ca_certs=${caFile}`;
  const said = async (text: string): Promise<string> => {
    const opened = connectTo(amqpAddressOf(text), SETTINGS, signal);
    return await opened.then(
      () => 'nothing',
      (error: Error) => error.message,
    );
  };
  return { plain: await said(url), secure: await said(secure) };
}

test('a limit of connections', async () => {
  const url = await rabbitmq.addVhost('limited');
  const first = await connectTo(amqpAddressOf(url), SETTINGS, signal);
  await rabbitmq.ctl('set_vhost_limits', '--vhost', vhostOf(url), '{"max-connections": 1}');
  const { plain, secure } = await refusals(url);
  await closeConnection(first);
  assert.match(
    plain,
    /^NOT_ALLOWED - access to vhost '.*' refused for user 'guest': .*connection limit \(1\) is reached$/u,
  );
  assert.equal(secure, plain);
});

test('a virtual host that does not exist', async () => {
  const { plain, secure } = await refusals(`amqp://guest:guest@127.0.0.1:${rabbitmq.port}/no where`);
  assert.equal(plain, 'NOT_ALLOWED - vhost no where not found');
  assert.equal(secure, plain);
});

test('a user who may not use it', async () => {
  const [url, other] = [await rabbitmq.addVhost('closed'), await rabbitmq.addVhost('open')];
  await rabbitmq.allow('visitor', 'secret', { configure: '', write: '', read: '' }, vhostOf(other));
  const { plain } = await refusals(url.replace('guest:guest', 'visitor:secret'));
  assert.match(plain, /^NOT_ALLOWED - access to vhost '.*' refused for user 'visitor'$/u);
});

test('a user who has as many connections as may be', async () => {
  const url = await rabbitmq.addVhost('busy');
  await rabbitmq.allow('collector', 'secret', { configure: '', write: '', read: '' }, vhostOf(url));
  await rabbitmq.ctl('set_user_limits', 'collector', '{"max-connections": 0}');
  const { plain } = await refusals(url.replace('guest:guest', 'collector:secret'));
  assert.match(plain, /^NOT_ALLOWED - .*user connection limit \(0\) is reached$/u);
});

test('whatever answers instead, there are no words, and nothing is left', async (t) => {
  const answers = [
    ...[Buffer.alloc(100_000, 0xff), Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ...['0100000000000000ce', '01000000000004000a0029ce', '01000000000004000a0032ce', ''].map((hex) =>
      Buffer.from(hex, 'hex'),
    ),
  ];
  const server = createServer((socket) => socket.on('error', () => undefined).end(answers.shift() ?? ''));
  const { port, stop } = await listenOnLoopback(server, {});
  t.after(stop);
  const login = { mechanism: 'PLAIN', response: () => Buffer.alloc(0) };
  const url = amqpAddressOf(`amqp://127.0.0.1:${port}`);
  while (answers.length > 0) assert.equal(await refusalOf(url, login, undefined, signal), undefined);
});
