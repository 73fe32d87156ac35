/**
 * Sends a document to all listeners (server-sent events), once a second while there are any. A slow listener misses
 * documents, and a listener that accepts none for half a minute is disconnected, so nothing accumulates.
 */
import type { ServerResponse } from 'node:http';

const INTERVAL_MS = 1000;
/** How many documents a listener may miss in a row. */
const MISSED_MAX = 30;
/** More listeners than people open pages. Beyond it, a new listener replaces the oldest. */
const LISTENERS_MAX = 32;

export interface EventStream {
  /** Adds a listener; its response headers must have been written. */
  add(response: ServerResponse): void;
  close(): void;
}

/** @param document JSON on one line */
export function openEventStream(document: () => string): EventStream {
  const listeners = new Map<ServerResponse, { missed: number }>();
  let timer: NodeJS.Timeout | undefined;

  function stopIfUnheard(): void {
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function sendAll(): void {
    const event = Buffer.from(eventOf(document()));
    for (const [response, state] of listeners) {
      if (!response.writableNeedDrain) {
        state.missed = 0;
        response.write(event);
      } else if (++state.missed > MISSED_MAX) response.destroy();
    }
  }

  return {
    add(response) {
      const [oldest] = listeners.keys();
      if (listeners.size >= LISTENERS_MAX) oldest?.destroy();
      listeners.set(response, { missed: 0 });
      response.once('close', () => {
        listeners.delete(response);
        stopIfUnheard();
      });
      response.write(eventOf(document()));
      timer ??= setInterval(sendAll, INTERVAL_MS).unref();
    },
    close() {
      for (const response of listeners.keys()) response.destroy();
    },
  };
}

function eventOf(document: string): string {
  return `data: ${document.trimEnd()}\n\n`;
}
