/** Backends that fail in every way, and exports to them. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Exporter } from '../../../src/otlp/send/exporter.ts';
import { sampleMetrics } from './exporter-backends.ts';
import { portOf } from './loopback-server.ts';

/** A peer that handles each connection as scripted. */
export async function rawPeer(t: TestContext, treat: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    treat(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return portOf(server.address());
}

/** Peers that are no backend, as `rawPeer` takes them. */
export const PEERS: Readonly<Record<string, (socket: Socket) => void>> = {
  'is silent': () => {},
  'reads and is silent': (socket) => socket.resume(),
  'answers half a line': (socket) => socket.resume().write('HTTP/1.1 200'),
  'speaks something else': (socket) => socket.resume().write('220 mail.example ESMTP\r\n'.repeat(20)),
  'closes at once': (socket) => socket.destroy(),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'closes after the first bytes': (socket) => socket.once('data', () => socket.destroy()),
};

/** The sample, again and again. */
export async function untilTaken(exporter: Exporter<ResourceMetrics>, everyMs: number): Promise<void> {
  while ((await exporter.export(sampleMetrics())).kind !== 'success')
    await new Promise((resolve) => setTimeout(resolve, everyMs));
}
