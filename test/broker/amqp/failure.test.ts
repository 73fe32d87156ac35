/** How amqplib’s errors are classified, and peers that do not behave like a broker. */
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { causeOf, openingFailure, replyCode } from '../../../src/broker/amqp/failure.ts';
import { Refusal } from '../../../src/broker/server/refusal.ts';
import { listenOnLoopback } from '../../otlp/send/loopback-server.ts';
import { addressOf, amqpAddressOf, observeSession } from '../observed-session.ts';
import { amqpTransport } from './amqp-transport.ts';

const URL = amqpAddressOf('amqp://u:hunter2@h/shop');

function coded(message: string, code: string | number): Error {
  return Object.assign(new Error(message), { code });
}

/** As if it had thrown it. */
function inAmqplib(error: Error): Error {
  error.stack = `${error.name}: ${error.message}\n    at accept (/app/node_modules/amqplib/lib/connection.js:1:1)`;
  return error;
}

const ENDS: readonly (readonly [unknown, string, string | RegExp])[] = [
  [
    coded('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'),
    'unreachable',
    'connect ECONNREFUSED 127.0.0.1:1',
  ],
  [coded('connect ETIMEDOUT', 'ETIMEDOUT'), 'unreachable', 'connect ETIMEDOUT'],
  [coded('getaddrinfo ENOTFOUND h', 'ENOTFOUND'), 'unreachable', 'getaddrinfo ENOTFOUND h'],
  [coded('certificate has expired', 'CERT_HAS_EXPIRED'), 'unreachable', 'certificate has expired'],
  [
    Object.assign(new AggregateError([new Error('connect to ::1'), new Error('connect to 127.0.0.1')]), {
      code: 'X',
    }),
    'unreachable',
    'connect to ::1; connect to 127.0.0.1',
  ],
  [new Error('Socket closed abruptly during opening handshake'), 'unreachable', /^Socket closed abruptly/],
  [new Error('Unexpected close'), 'unreachable', 'Unexpected close'],
  [coded('Connection closed: 320 (CONNECTION-FORCED)', 320), 'unreachable', /320/],
  [coded('Connection closed: 541 (INTERNAL-ERROR)', 541), 'refused', /541/],
  [coded('Operation failed: QueueDeclare; 403 (ACCESS-REFUSED)', 403), 'refused', /403/],
  [new Error('Handshake terminated by server: 403 (ACCESS-REFUSED)'), 'refused', /403/],
  [new Error('Expected ConnectionOpenOk; got <ConnectionClose channel:0>'), 'refused', /virtual host "shop"/],
  [new Error('SASL mechanism PLAIN is not provided by the server'), 'refused', /PLAIN/],
  [new Error('Invalid frame'), 'malformed', /AMQP protocol: Invalid frame/],
  [inAmqplib(new TypeError('reply is not a function')), 'malformed', /reply is not a function/],
  [inAmqplib(new TypeError("Field 'virtualHost' is the wrong type")), 'refused', /^Field/],
  [new TypeError('a mistake of ours'), 'refused', /^a mistake/],
  [new Refusal('there is no exchange'), 'refused', 'there is no exchange'],
  ['a text', 'refused', 'a text'],
];

for (const [error, kind, reason] of ENDS) {
  test(`${error} before a session is ready means ${kind}`, () => {
    const end = openingFailure(causeOf(error), URL);
    assert.equal(end.kind, kind);
    assert.ok('reason' in end);
    if (typeof reason === 'string') assert.equal(end.reason, reason);
    else assert.match(end.reason, reason);
  });
}

test('only a number is a reply code', () => {
  assert.equal(replyCode(coded('', 404)), 404);
  for (const error of [coded('', 'ENOENT'), new Error('404'), 404, undefined])
    assert.equal(replyCode(error), undefined);
});

test('a peer that closes the connection is unreachable, and no password is told', async (t) => {
  for (const close of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
    const server = createServer((socket) => void close(socket.on('error', () => undefined)));
    const { port, stop } = await listenOnLoopback(server, {});
    t.after(stop);
    const url = addressOf(`amqp://u:hunter2@127.0.0.1:${port}`);
    const session = observeSession(t, amqpTransport(), { url, connectTimeoutMs: 500 });
    const end = await session.ended;
    assert.equal(end.kind, 'unreachable');
    assert.doesNotMatch(JSON.stringify(end), /hunter2/);
    assert.deepEqual(session.log.items, []);
  }
});
