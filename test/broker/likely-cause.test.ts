/** The causes of failed connections: what libraries and brokers really say, and the row that is told of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CAUSES, explained } from '../../src/broker/likely-cause.ts';
import { createPeerText } from '../../src/text/peer-text.ts';
import { addressOf } from './observed-session.ts';

const GONE = "Stream isn't writeable and enableOfflineQueue options is false";
const SILENT = 'no reply within 5000 ms';
const ALTNAMES = "Hostname/IP does not match certificate's altnames: Host: h. is not in the cert's altnames";
const LOGIN = (mechanism: string): string =>
  `Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED - Login was refused using authentication mechanism ${mechanism}. For details see the broker logfile."`;
const NO_PASSWORD =
  'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?';
const CERTIFICATE = 'ssl_certfile=/c.pem&ssl_keyfile=/k.pem';

/** What a library or a broker says, with an address, and the beginning of what is told. */
const CASES: readonly (readonly [address: string, said: string, reported: RegExp, hasWorked?: true])[] = [
  [
    'amqp://h',
    'connect ECONNREFUSED 10.0.0.7:5672',
    /^nothing is listening on h:5672 any more: start/u,
    true,
  ],
  [
    'redis://',
    'connect ECONNREFUSED 127.0.0.1:6379',
    /^nothing .* here: .*localhost is the container itself/u,
  ],
  ['redis://h', 'connect EMFILE 10.0.0.7:6379', /^this process has reached its limit .*LimitNOFILE/u],
  ['redis://h', 'connect ECONNREFUSED 10.0.0.7:6379', /^nothing is listening on h:6379: [^;]*broker_url \(/u],
  [
    'amqp://nope.invalid',
    'getaddrinfo ENOTFOUND nope.invalid',
    /^the host name of nope\.invalid:5672 cannot/u,
  ],
  ['amqp://h', 'connect ETIMEDOUT 10.0.0.7:5672', /^h:5672 is unreachable: /u],
  [
    'redis+socket:///run/r.sock',
    'connect ENOENT /run/r.sock',
    /^the socket \/run\/r\.sock cannot be opened: /u,
  ],
  ['amqp://h:6379', SILENT, /^6379 is the port of Redis: write redis:\/\//u],
  ['redis://h:5672', GONE, /^5672 is the port of RabbitMQ: write amqp:\/\//u],
  ['rediss://h:5671', GONE, /^5671 is the port of RabbitMQ: write amqp:\/\//u],
  [
    'amqp://h:7',
    `${SILENT}; it replies like a Redis server`,
    /^h:7 is a Redis server: write redis:\/\/ in broker_url, or/u,
  ],
  [
    'amqps://h:7',
    `${SILENT}; it replies like a Redis server`,
    /^h:7 is a Redis server: write rediss:\/\/ in broker_url/u,
  ],
  [
    'redis://h:7',
    'Unknown RESP type 65 "A". Please report this.',
    /^h:7 is a RabbitMQ server: write amqp:\/\/ in broker_url, or the address of Redis/u,
  ],
  [
    'amqp://h:15672',
    'Frame size 1345270062 exceeds maxFrameSize 67108864',
    /^15672 is the port of RabbitMQ’s manag/u,
  ],
  ['amqp://h:7', 'Frame size 1345270062 exceeds maxFrameSize 67108864', /^h:7 is not RabbitMQ: correct the/u],
  ['amqp://h:15672', SILENT, /^15672 is the port of RabbitMQ’s management page: use port 5672/u],
  ['amqp://h:5671', 'Socket closed abruptly during opening handshake', /^5671 .* for TLS: write amqps:/u],
  ['amqps://h:5672', 'wrong version number', /^h:5672 does not speak TLS: .* write amqp:\/\/ and/u],
  ['rediss://h', 'packet length too long', /^h:6379 does not speak TLS: .* write redis:\/\/ and/u],
  ['rediss://h', ALTNAMES, /^the certificate of h:6379 is for another host name: /u],
  ['amqps://h', 'certificate has expired', /^the certificate of h:5671 has expired: /u],
  ['amqps://h', 'certificate is not yet valid', /^the certificate of h:5671 is not valid yet: /u],
  [
    'amqps://h',
    'self-signed certificate in certificate chain',
    /^the certificate .* not trusted: set ssl_ca_/u,
  ],
  [
    'rediss://h',
    'unable to verify the first certificate',
    /^the certificate .* not trusted: set ssl_ca_certs/u,
  ],
  [
    `amqps://h?${CERTIFICATE}`,
    'sslv3 alert handshake failure',
    /^the broker rejects the client certificate, or shares no cipher or TLS version with us: correct/u,
  ],
  [`amqps://h?${CERTIFICATE}`, 'tlsv1 alert unknown ca', /^the broker rejects the client certificate: /u],
  [
    'amqps://h',
    'tlsv13 alert certificate required',
    /^the broker requires a client certificate: set ssl_cert/u,
  ],
  ['amqps://h', 'sslv3 alert handshake failure', /^the broker requires a client certificate, or shares no /u],
  [
    'rediss://h',
    'tlsv1 alert protocol version',
    /^the broker shares no TLS version with us: enable TLS 1\.2/u,
  ],
  ['amqps://h', 'tlsv1 alert unrecognized name', /^the broker does not serve this host name: /u],
  [`rediss://h?${CERTIFICATE}`, 'key values mismatch', /^ssl_keyfile is not the key of ssl_certfile: /u],
  [
    'amqp://h',
    'SASL mechanism PLAIN is not provided by the server',
    /^the broker does not accept passwords .*PLAIN/u,
  ],
  [
    'amqps://h',
    'SASL mechanism EXTERNAL is not provided by the server',
    /^the broker does not offer this login/u,
  ],
  ['amqps://h', LOGIN('EXTERNAL'), /^the broker has no user with the name in the client certificate: /u],
  ['amqp://h', LOGIN('PLAIN'), /^RabbitMQ accepts the user guest only from its own host: /u],
  ['amqp://u:p@h', LOGIN('PLAIN'), /^the broker does not know this user, or the password is wrong: /u],
  ['amqp://127.0.0.1', LOGIN('PLAIN'), /^the broker does not know this user, or the password is wrong: /u],
  [
    'amqp://h',
    "NOT_ALLOWED - access to vhost '/' refused for user 'u': user connection limit (1) is reached",
    /^the user or the virtual host has reached its connection limit: raise the limit/u,
    true,
  ],
  [
    'amqp://h',
    "NOT_ALLOWED - access to vhost '/' refused for user 'u': connection limit (1) is reached",
    /^the user or the virtual host has reached its connection limit: raise the limit/u,
  ],
  [
    'amqp://h',
    "INTERNAL_ERROR - access to vhost '/' refused for user 'guest': vhost '/' is down",
    /^the virtual host is down: find the reason in the log of RabbitMQ/u,
  ],
  ['amqp://h', 'NOT_ALLOWED - vhost shop not found', /^there is no such virtual host: correct what follows/u],
  [
    'amqp://h',
    "NOT_ALLOWED - access to vhost 'shop' refused for user 'u'",
    /^the user may not access this virtual host: grant the permissions in it/u,
  ],
  [
    'sentinel://h',
    'NOAUTH Authentication required.',
    /^the sentinels or the master expect another password: set sent/u,
  ],
  [
    'sentinel://h',
    'the sentinel h:26379 knows no master "m"',
    /^the sentinels have no master .* master_name/u,
  ],
  [
    'redis://:x@h',
    'WRONGPASS invalid username-password pair',
    /^Redis does not know this user, or the pass/u,
  ],
  ['redis://h', 'NOAUTH Authentication required.', /^Redis requires a password: write it in broker_url/u],
  ['redis://:x@h', NO_PASSWORD, /^Redis has no password, but broker_url has one: /u],
  [
    'redis://h',
    '-DENIED Redis is running in protected mode because',
    /^Redis is in protected mode and accepts only/u,
  ],
  ['redis://h', 'ERR max number of clients reached', /^Redis has reached maxclients: raise maxcl/u],
  [
    'amqps://h:7',
    'read ECONNRESET',
    /^h:7 aborted the TLS handshake, or is not RabbitMQ: correct the port; or/u,
  ],
  [
    'redis://h:7',
    'read ECONNRESET',
    /^h:7 closed the connection without a reply: write rediss:.* not Redis/u,
  ],
  ['redis://h:7', 'Unknown RESP type 72 "H". Please report this.', /^h:7 is not Redis: correct the port/u],
  ['rediss://h:7', SILENT, /^h:7 does not reply over TLS: correct the port, if it is not Redis with TLS/u],
  [
    'amqp://h:7',
    SILENT,
    /^h:7 does not reply: correct the port, if it is not RabbitMQ; or check for a firew/u,
  ],
];

for (const [address, said, reported, hasWorked = false] of CASES) {
  test(`${said} at ${address}${hasWorked ? ', after a session' : ''} is told with its cause`, () => {
    const text = explained(said, addressOf(address), hasWorked, createPeerText([]));
    assert.match(text, reported);
    assert.ok(text.endsWith(`(${said})`), text);
    assert.doesNotMatch(text, /[{}]/u);
  });
}

test('each row of the table has a case', () => {
  const beginning = (cause: string): RegExp =>
    new RegExp(`^${cause.replaceAll(/[()’.]/gu, '.').replaceAll(/\{\w+\}/gu, '\\S+')}: `, 'u');
  const texts = CASES.map(([address, said, , hasWorked = false]) =>
    explained(said, addressOf(address), hasWorked, createPeerText([])),
  );
  const unreported = CAUSES.filter(({ cause }) => !texts.some((text) => beginning(cause).test(text)));
  assert.deepEqual(
    unreported.map(({ cause }) => cause),
    [],
  );
});

test('a server that was restarted is not blamed for anything', () => {
  for (const said of ['the server closed the connection', 'read ECONNRESET', SILENT, 'Unexpected close'])
    for (const address of ['redis://h', 'rediss://h', 'amqp://h', 'amqps://h'])
      assert.equal(explained(said, addressOf(address), true, createPeerText([])), said);
});

test('what no row knows stays as it is, and no password is told', () => {
  assert.equal(
    explained('LOADING Redis is loading', addressOf('redis://h'), false, createPeerText([])),
    'LOADING Redis is loading',
  );
  assert.equal(explained(SILENT, addressOf('recording:file'), false, createPeerText([])), SILENT);
  for (const address of ['amqp://u:hunter2@h', 'redis+socket://u:hunter2@/run/r', 'sentinel://u:hunter2@h'])
    assert.doesNotMatch(
      explained('read ECONNRESET', addressOf(address), false, createPeerText([])),
      /hunter2|u:/u,
    );
});

test('of a text without end only its beginning and its end are searched', () => {
  const endless = `ERR ${'vhost '.repeat(1_000_000)}`;
  assert.ok(explained(endless, addressOf('redis://h'), false, createPeerText([])).length <= 1000);
  const closed = `${'x'.repeat(100_000)}the server closed the connection`;
  assert.match(explained(closed, addressOf('redis://h'), false, createPeerText([])), /without a reply/u);
});
