/**
 * Starts Redis servers for tests, each on its own loopback port and without persistence: their data is gone when they
 * stop. It never touches the system's own Redis service.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from './at-exit.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { startServerProcess } from './server-process.ts';

const START_TIMEOUT_MS = 15_000;
const STOP_TIMEOUT_MS = 10_000;

/** A running Redis server without a password. */
export interface Redis {
  /** `redis://127.0.0.1:PORT/0` */
  readonly url: string;
  readonly port: number;
  /** Resolves when its process is gone and its port closed; removes its folder. May be called twice. */
  stop(): Promise<void>;
}

/** Starts a server and resolves once it takes connections. Rejects with the end of its log if it does not. */
export async function startRedis(): Promise<Redis> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-redis-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const forgetFolder = atExit(removeFolder);
  const server = await startServerProcess({
    command: 'redis-server',
    args: [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'no',
    ],
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'log'),
  });
  const stop = async () => {
    await server.end('SIGTERM', STOP_TIMEOUT_MS);
    forgetFolder();
    removeFolder();
    if (await isPortOpen(port)) throw new Error(`port ${port} is still open`);
  };
  try {
    await server.untilLog('Ready to accept connections', START_TIMEOUT_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis://127.0.0.1:${port}/0`, port, stop };
}
