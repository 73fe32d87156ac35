/**
 * Warms up the serialiser before the first large request. Until V8 has compiled it, the serialiser takes ten times as long, and
 * blocks the event loop for that time. It sends nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExportRequest } from './export-request.ts';

/** Awaited before each request is sent. */
export type WarmUp<Data> = (request: ExportRequest<Data>) => Promise<void>;

/** After this many items V8 has compiled the serialiser. */
const COLD_ITEMS = 1000;
/** Number of items that are serialised without yielding, which takes 10 ms at first. */
const TURN_ITEMS = 50;

/** @param serialise encodes a request as it will be sent */
export function createWarmUp<Data>(serialise: (data: Data) => unknown): WarmUp<Data> {
  let coldItems = COLD_ITEMS;
  let last = Promise.resolve();

  async function warmUp(request: ExportRequest<Data>): Promise<void> {
    for (const part of request.parts(TURN_ITEMS)) {
      if (coldItems <= 0) return;
      coldItems -= part.items;
      // The request is so small that sending it takes no longer.
      if (part.items === request.items) return;
      await nextTurn();
      try {
        serialise(part.data());
      } catch {
        // Sending the request will fail in the same way and is reported.
      }
    }
  }

  return (request) => {
    if (coldItems > 0) last = last.then(() => warmUp(request));
    return last;
  };
}
