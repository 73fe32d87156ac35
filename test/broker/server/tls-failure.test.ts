/** Why TLS fails, told from all else, with both protocols: by Node’s codes, and in plain words. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { explained } from '../../../src/broker/likely-cause.ts';
import { unreachable } from '../../../src/broker/server/tls-failure.ts';
import { createPeerText } from '../../../src/text/peer-text.ts';
import { listenOnLoopback } from '../../otlp/send/loopback-server.ts';
import { makeCertificates } from '../../real/certificates.ts';
import { amqpTransport } from '../amqp/amqp-transport.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { redisTransport } from '../redis/redis-transport.ts';

const folder = mkdtempSync(join(tmpdir(), 'tls-failure-'));
after(() => rmSync(folder, { recursive: true }));
const { caFile, certFile, keyFile } = makeCertificates(join(folder, 'certificates'));
const other = makeCertificates(join(folder, 'other'));
const SERVER: TlsOptions = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const DEMANDING: TlsOptions = { ...SERVER, requestCert: true, ca: readFileSync(caFile) };
const TRUSTED = `ssl_ca_certs=${caFile}`;
const REFUSED =
  /^the broker requires a client certificate(?:, or shares no cipher.*)?: set ssl_certfile.* \([^:]+\)$/u;

const CASES: readonly (readonly [name: string, TlsOptions | 'no TLS', query: string, reason: RegExp])[] = [
  [
    'an unknown authority',
    SERVER,
    `ssl_ca_certs=${other.caFile}`,
    /^the certificate of \S+ is not trusted: set ssl_ca_certs/u,
  ],
  ['a client without a certificate', { ...DEMANDING, maxVersion: 'TLSv1.2' }, TRUSTED, REFUSED],
  ['the same since TLS 1.3', { ...DEMANDING, minVersion: 'TLSv1.3' }, TRUSTED, REFUSED],
  ['a port without TLS', 'no TLS', TRUSTED, /^\S+ does not speak TLS: .* \([^:]+\)$/u],
  [
    'a key of another certificate',
    SERVER,
    `${TRUSTED}&ssl_certfile=${certFile}&ssl_keyfile=${other.keyFile}`,
    /^ssl_keyfile is not the key of ssl_certfile/u,
  ],
];

/** A server that is not a broker. @returns its port */
async function listening(t: TestContext, options: TlsOptions | 'no TLS'): Promise<number> {
  const server =
    options === 'no TLS'
      ? createServer((socket) => socket.on('error', () => undefined).end('-ERR unknown command\r\n'))
      : createTlsServer(options, (socket) => socket.on('error', () => undefined));
  const { port, stop } = await listenOnLoopback(server, {});
  t.after(stop);
  return port;
}

test('a port with TLS is unreachable without it, on both brokers', async (t) => {
  const port = await listening(t, SERVER);
  for (const [scheme, transport] of [
    ['amqp', amqpTransport()],
    ['redis', redisTransport()],
  ] as const) {
    const { ended } = observeSession(t, transport, { url: addressOf(`${scheme}://localhost:${port}`) });
    assert.equal((await ended).kind, 'unreachable', scheme);
  }
});

for (const [name, options, query, reason] of CASES) {
  test(`${name} is told in plain words on both brokers, and as a failure of TLS if there is TLS`, async (t) => {
    const port = await listening(t, options);
    for (const [scheme, transport] of [
      ['amqps', amqpTransport()],
      ['rediss', redisTransport()],
    ] as const) {
      const url = addressOf(`${scheme}://localhost:${port}/?${query}`);
      const end = await observeSession(t, transport, { url }).ended;
      assert.ok(end.kind === 'unreachable', JSON.stringify(end));
      assert.match(explained(end.reason, url, false, createPeerText([])), reason, scheme);
      assert.equal(end.isTls, options === 'no TLS' ? undefined : true, scheme);
    }
  });
}

const coded = (message: string, code: string) => Object.assign(new Error(message), { code });

test('a certificate that is not accepted has one of Node’s codes, whatever the text says', () => {
  for (const [text, code] of [
    ['permitted subtree violation', 'UNSPECIFIED'],
    ['path length constraint exceeded', 'PATH_LENGTH_EXCEEDED'],
    ['unable to get certificate CRL', 'UNABLE_TO_GET_CRL'],
    ['CRL has expired', 'CRL_HAS_EXPIRED'],
    ['certificate has expired', 'CERT_HAS_EXPIRED'],
    ['format error in CRL’s lastUpdate field', 'ERROR_IN_CRL_LAST_UPDATE_FIELD'],
    ['self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['self-signed certificate in certificate chain', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['unsuitable certificate purpose', 'INVALID_PURPOSE'],
    ['hostname mismatch', 'HOSTNAME_MISMATCH'],
    ['Hostname/IP does not match certificate’s altnames', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const)
    assert.deepEqual(unreachable(coded(text, code)), { kind: 'unreachable', reason: text, isTls: true });
});

test('a host that is named as a certificate, or an address that is wrong, is no failure of TLS', () => {
  for (const [text, code] of [
    ['getaddrinfo ENOTFOUND certificate.invalid', 'ENOTFOUND'],
    ['connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'],
    ['bad certificate, says the server', 'ERR_INVALID_ARG_VALUE'],
  ] as const)
    assert.deepEqual(unreachable(coded(text, code)), { kind: 'unreachable', reason: text });
  assert.deepEqual(unreachable(new Error('certificate')), { kind: 'unreachable', reason: 'certificate' });
});

test('what OpenSSL says is told without the places in its source', () => {
  const said = (words: string, code = 'EPROTO') =>
    unreachable(
      coded(
        `write EPROTO 00FE:error:0A000418:SSL routines:ssl3_read_bytes:${words}:a.c:9:SSL alert number 48\n`,
        code,
      ),
    ).reason;
  assert.equal(said('tlsv1 alert unknown ca'), 'tlsv1 alert unknown ca');
  assert.equal(said('bad signature'), 'bad signature');
});
