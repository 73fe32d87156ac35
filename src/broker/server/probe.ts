/** Checks whether a port accepts connections. It sends nothing, so the server logs nothing. */
import { connect, type NetConnectOpts } from 'node:net';

const PROBE_TIMEOUT_MS = 1000;

/** Opens a connection and closes it. @returns whether it opened within a second */
export function isListening(place: NetConnectOpts, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(place);
    const settle = (listening: boolean): void => {
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(listening);
    };
    const giveUp = (): void => settle(false);
    socket.setTimeout(PROBE_TIMEOUT_MS, giveUp);
    socket.once('connect', () => settle(true));
    socket.once('error', giveUp);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
  });
}
