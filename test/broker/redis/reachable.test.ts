/** Whether a Redis behind sentinels can be reached: asked each second during an outage, also when the bridge stops. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listenOnLoopback } from '../../otlp/send/loopback-server.ts';
import { freePort } from '../../real/free-port.ts';
import { addressOf } from '../observed-session.ts';
import { redisTransport } from './redis-transport.ts';

/** Accepts connections and never answers. */
async function silentServer(t: TestContext, onConnection = () => {}) {
  const server = createServer((socket) => {
    socket.resume().on('error', () => undefined);
    onConnection();
  });
  const listening = await listenOnLoopback(server, {});
  t.after(listening.stop);
  return listening;
}

const sentinelsAt = (...ports: number[]) =>
  addressOf(ports.map((port) => `sentinel://127.0.0.1:${port}/0`).join(';'));

test('silent sentinels mean that nothing is reachable', async (t) => {
  const { port } = await silentServer(t);
  const transport = redisTransport({ masterName: 'shop' });
  const { signal } = new AbortController();
  assert.equal(await transport.reachable?.(sentinelsAt(port), signal), false);
});

test('once it is asked to stop, it asks no further sentinel', async (t) => {
  const transport = redisTransport({ masterName: 'shop' });
  const stopping = new AbortController();
  const first = await silentServer(t, () => stopping.abort());
  const second = await silentServer(t);
  const url = sentinelsAt(first.port, second.port);
  assert.equal(await transport.reachable?.(url, stopping.signal), false);
  assert.equal(second.accepted(), 0);
});

test('with unreadable TLS files of the sentinels nothing is reachable, and it does not reject', async () => {
  const none = { certFile: undefined, keyFile: undefined };
  const tls = { ...none, caFile: '/nowhere/ca.pem', verify: true, checkHost: true };
  const sentinel = { username: undefined, password: undefined, tls };
  const transport = redisTransport({ masterName: 'shop', sentinel });
  const { signal } = new AbortController();
  assert.equal(await transport.reachable?.(sentinelsAt(await freePort()), signal), false);
});
