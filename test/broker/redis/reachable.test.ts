/** Whether a Redis behind sentinels can be reached: asked each second during an outage, also when the bridge stops. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../real/free-port.ts';
import { addressOf } from '../observed-session.ts';
import { redisTransport } from './redis-transport.ts';

/** Accepts connections and never answers. */
async function silentServer(t: TestContext): Promise<{ readonly port: number; readonly server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.resume().on('error', () => undefined));
  });
  const port = await freePort();
  await once(server.listen({ host: '127.0.0.1', port }), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port, server };
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
  const [first, second] = [await silentServer(t), await silentServer(t)];
  const transport = redisTransport({ masterName: 'shop' });
  const stopping = new AbortController();
  first.server.once('connection', () => stopping.abort());
  let isAsked = false;
  second.server.once('connection', () => {
    isAsked = true;
  });
  const url = sentinelsAt(first.port, second.port);
  assert.equal(await transport.reachable?.(url, stopping.signal), false);
  assert.equal(isAsked, false);
});

test('with unreadable TLS files of the sentinels nothing is reachable, and it does not reject', async () => {
  const tls = {
    caFile: '/nowhere/ca.pem',
    certFile: undefined,
    keyFile: undefined,
    verify: true,
    checkHost: true,
  };
  const sentinel = { username: undefined, password: undefined, tls };
  const transport = redisTransport({ masterName: 'shop', sentinel });
  const { signal } = new AbortController();
  assert.equal(await transport.reachable?.(sentinelsAt(await freePort()), signal), false);
});
