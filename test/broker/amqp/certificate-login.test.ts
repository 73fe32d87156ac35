/** A RabbitMQ that lets clients in by their certificates (`EXTERNAL`), whose own has another name than its host. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { BrokerTls } from '../../../src/broker/broker-url.ts';
import { explained } from '../../../src/broker/likely-cause.ts';
import { createPeerText } from '../../../src/text/peer-text.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import { amqpAddressOf, observeSession } from '../observed-session.ts';
import { amqpTransport } from './amqp-transport.ts';

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq({ tls: true, external: true });
});
after(() => rabbitmq.remove());

/** @param host a name that the certificate does not have is `127.0.0.2` */
function urlOf(query: string, tls: Partial<BrokerTls> = {}) {
  const { certFile, keyFile, caFile } = rabbitmq.certificates ?? assert.fail();
  const address = rabbitmq.tlsUrl?.replace(/guest:guest@/u, '') ?? '';
  const files = `ssl_ca_certs=${caFile}&ssl_certfile=${certFile}&ssl_keyfile=${keyFile}`;
  const url = amqpAddressOf(`${address.replace(/\/\/$/u, '//')}?${files}${query}`);
  return url.tls === undefined ? assert.fail() : { ...url, tls: { ...url.tls, ...tls } };
}

async function endOf(t: TestContext, url: ReturnType<typeof urlOf>) {
  const { ended, log } = observeSession(t, amqpTransport(), { url });
  const end = await Promise.race([ended, log.reaches(1)]);
  assert.ok('kind' in end && 'reason' in end, 'it was ready');
  return explained(end.reason, url, false, createPeerText([]));
}

test('the certificate is the login, by the address and by the option', async (t) => {
  assert.match(
    await endOf(t, urlOf('&login_method=EXTERNAL')),
    /^the broker has no user with the name in the client/u,
  );
  await rabbitmq.allow('localhost', 'unused', { configure: '.*', write: '.*', read: '.*' });
  await rabbitmq.ctl('clear_password', 'localhost');
  await observeSession(t, amqpTransport(), { url: urlOf('&login_method=EXTERNAL') }).ready();
  await observeSession(t, amqpTransport({ loginMethod: 'EXTERNAL' }), { url: urlOf('') }).ready();
});

test('a certificate for another name is refused, unless that name is expected, or none', async (t) => {
  const elsewhere = (tls: Partial<BrokerTls>) => ({
    ...urlOf('', { serverName: 'rabbit.internal', ...tls }),
  });
  assert.match(
    await endOf(t, elsewhere({})),
    /^the certificate of \S+ is for another host name: .*server_hostname/u,
  );
  await observeSession(t, amqpTransport(), { url: elsewhere({ checkHost: false }) }).ready();
  await observeSession(t, amqpTransport(), { url: elsewhere({ serverName: 'localhost' }) }).ready();
});
