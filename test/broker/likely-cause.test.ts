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

/**
 * An address, what a library or a broker says of it, and the beginning of what is told; `…` is any text. The last column is
 * there if a session was open before.
 */
const CASES = `
  amqp://h | connect ECONNREFUSED 10.0.0.7:5672 | nothing is listening on h:5672 any more: start | after a session
  redis:// | connect ECONNREFUSED 127.0.0.1:6379 | nothing … here: …localhost is the container itself
  redis://h | connect EMFILE 10.0.0.7:6379 | this process has reached its limit …LimitNOFILE
  redis://h | connect ECONNREFUSED 10.0.0.7:6379 | nothing is listening on h:6379: …broker_url (
  amqp://nope.invalid | getaddrinfo ENOTFOUND nope.invalid | the host name of nope.invalid:5672 cannot
  amqp://h | connect ETIMEDOUT 10.0.0.7:5672 | h:5672 is unreachable:
  redis+socket:///run/r.sock | connect ENOENT /run/r.sock | the socket /run/r.sock cannot be opened:
  amqp://h:6379 | ${SILENT} | 6379 is the port of Redis: write redis://
  redis://h:5672 | ${GONE} | 5672 is the port of RabbitMQ: write amqp://
  rediss://h:5671 | ${GONE} | 5671 is the port of RabbitMQ: write amqp://
  amqp://h:7 | ${SILENT}; it replies like a Redis server | h:7 is a Redis server: write redis:// in broker_url, or
  amqps://h:7 | ${SILENT}; it replies like a Redis server | h:7 is a Redis server: write rediss:// in broker_url
  redis://h:7 | Unknown RESP type 65 "A". Please report this. | h:7 is a RabbitMQ server: write amqp:// in broker_url, or the address of Redis
  amqp://h:15672 | Frame size 1345270062 exceeds maxFrameSize 67108864 | 15672 is the port of RabbitMQ’s manag
  amqp://h:7 | Frame size 1345270062 exceeds maxFrameSize 67108864 | h:7 is not RabbitMQ: correct the
  amqp://h:15672 | ${SILENT} | 15672 is the port of RabbitMQ’s management page: use port 5672
  amqp://h:5671 | Socket closed abruptly during opening handshake | 5671 … for TLS: write amqps:
  amqps://h:5672 | wrong version number | h:5672 does not speak TLS: … write amqp:// and
  rediss://h | packet length too long | h:6379 does not speak TLS: … write redis:// and
  rediss://h | ${ALTNAMES} | the certificate of h:6379 is for another host name:
  amqps://h | certificate has expired | the certificate of h:5671 has expired:
  amqps://h | certificate is not yet valid | the certificate of h:5671 is not valid yet:
  amqps://h | self-signed certificate in certificate chain | the certificate … not trusted: set ssl_ca_
  rediss://h | unable to verify the first certificate | the certificate … not trusted: set ssl_ca_certs
  amqps://h?${CERTIFICATE} | sslv3 alert handshake failure | the broker rejects the client certificate, or shares no cipher or TLS version with us: correct
  amqps://h?${CERTIFICATE} | tlsv1 alert unknown ca | the broker rejects the client certificate:
  amqps://h | tlsv13 alert certificate required | the broker requires a client certificate: set ssl_cert
  amqps://h | sslv3 alert handshake failure | the broker requires a client certificate, or shares no
  rediss://h | tlsv1 alert protocol version | the broker shares no TLS version with us: enable TLS 1.2
  amqps://h | tlsv1 alert unrecognized name | the broker does not serve this host name:
  rediss://h?${CERTIFICATE} | key values mismatch | ssl_keyfile is not the key of ssl_certfile:
  amqp://h | SASL mechanism PLAIN is not provided by the server | the broker does not accept passwords …PLAIN
  amqps://h | SASL mechanism EXTERNAL is not provided by the server | the broker does not offer this login
  amqps://h | ${LOGIN('EXTERNAL')} | the broker has no user with the name in the client certificate:
  amqp://h | ${LOGIN('PLAIN')} | RabbitMQ accepts the user guest only from its own host:
  amqp://u:p@h | ${LOGIN('PLAIN')} | the broker does not know this user, or the password is wrong:
  amqp://127.0.0.1 | ${LOGIN('PLAIN')} | the broker does not know this user, or the password is wrong:
  amqp://h | NOT_ALLOWED - access to vhost '/' refused for user 'u': user connection limit (1) is reached | the user or the virtual host has reached its connection limit: raise the limit | after a session
  amqp://h | NOT_ALLOWED - access to vhost '/' refused for user 'u': connection limit (1) is reached | the user or the virtual host has reached its connection limit: raise the limit
  amqp://h | INTERNAL_ERROR - access to vhost '/' refused for user 'guest': vhost '/' is down | the virtual host is down: find the reason in the log of RabbitMQ
  amqp://h | NOT_ALLOWED - vhost shop not found | there is no such virtual host: correct what follows
  amqp://h | NOT_ALLOWED - access to vhost 'shop' refused for user 'u' | the user may not access this virtual host: grant the permissions in it
  sentinel://h | NOAUTH Authentication required. | the sentinels or the master expect another password: set sent
  sentinel://h | the sentinel h:26379 knows no master "m" | the sentinels have no master … master_name
  redis://:x@h | WRONGPASS invalid username-password pair | Redis does not know this user, or the pass
  redis://h | NOAUTH Authentication required. | Redis requires a password: write it in broker_url
  redis://:x@h | ${NO_PASSWORD} | Redis has no password, but broker_url has one:
  redis://h | -DENIED Redis is running in protected mode because | Redis is in protected mode and accepts only
  redis://h | ERR max number of clients reached | Redis has reached maxclients: raise maxcl
  amqps://h:7 | read ECONNRESET | h:7 aborted the TLS handshake, or is not RabbitMQ: correct the port; or
  redis://h:7 | read ECONNRESET | h:7 closed the connection without a reply: write rediss:… not Redis
  redis://h:7 | Unknown RESP type 72 "H". Please report this. | h:7 is not Redis: correct the port
  rediss://h:7 | ${SILENT} | h:7 does not reply over TLS: correct the port, if it is not Redis with TLS
  amqp://h:7 | ${SILENT} | h:7 does not reply: correct the port, if it is not RabbitMQ; or check for a firew
`
  .trim()
  .split('\n')
  .map((row) => {
    const [address = '', said = '', expected = '', hasWorked] = row.trim().split(' | ');
    return { address, said, expected, hasWorked: hasWorked !== undefined };
  });

const told = (address: string, said: string, hasWorked = false): string =>
  explained(said, addressOf(address), hasWorked, createPeerText([]));

for (const { address, said, expected, hasWorked } of CASES) {
  test(`${said} at ${address}${hasWorked ? ', after a session' : ''} is told with its cause`, () => {
    const text = told(address, said, hasWorked);
    const pattern = expected.replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&').replaceAll('…', '.*');
    assert.match(text, new RegExp(`^${pattern}`, 'u'));
    assert.ok(text.endsWith(`(${said})`), text);
    assert.doesNotMatch(text, /[{}]/u);
  });
}

test('each row of the table has a case', () => {
  const beginning = (cause: string): RegExp =>
    new RegExp(`^${cause.replaceAll(/[()’.]/gu, '.').replaceAll(/\{\w+\}/gu, '\\S+')}: `, 'u');
  const texts = CASES.map(({ address, said, hasWorked }) => told(address, said, hasWorked));
  const unreported = CAUSES.filter(({ cause }) => !texts.some((text) => beginning(cause).test(text)));
  assert.deepEqual(
    unreported.map(({ cause }) => cause),
    [],
  );
});

test('a server that was restarted is not blamed for anything', () => {
  for (const said of ['the server closed the connection', 'read ECONNRESET', SILENT, 'Unexpected close'])
    for (const address of ['redis://h', 'rediss://h', 'amqp://h', 'amqps://h'])
      assert.equal(told(address, said, true), said);
});

test('what no row knows stays as it is, and no password is told', () => {
  assert.equal(told('redis://h', 'LOADING Redis is loading'), 'LOADING Redis is loading');
  assert.equal(told('recording:file', SILENT), SILENT);
  for (const address of ['amqp://u:hunter2@h', 'redis+socket://u:hunter2@/run/r', 'sentinel://u:hunter2@h'])
    assert.doesNotMatch(told(address, 'read ECONNRESET'), /hunter2|u:/u);
});

test('of a text without end only its beginning and its end are searched', () => {
  assert.ok(told('redis://h', `ERR ${'vhost '.repeat(1_000_000)}`).length <= 1000);
  const closed = `${'x'.repeat(100_000)}the server closed the connection`;
  assert.match(told('redis://h', closed), /without a reply/u);
});
