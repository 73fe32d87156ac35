/**
 * Warms up the serialiser before the first large request: until V8 has compiled it, it takes ten times as long, and blocks
 * the event loop meanwhile. It sends nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExportRequest } from './export-request.ts';

/** Awaited before each request is sent. */
export type WarmUp<Data> = (request: ExportRequest<Data>) => Promise<void>;

/** After this many items the serialiser is compiled. */
const COLD_ITEMS = 1000;
/** Serialised without yielding, which takes 10 ms at first. */
const TURN_ITEMS = 50;

/** @param serialise as for protobuf: JSON is native code */
export function createWarmUp<Data>(serialise: (data: Data) => unknown): WarmUp<Data> {
  let coldItems = COLD_ITEMS;
  let last = Promise.resolve();

  async function warmUp(request: ExportRequest<Data>): Promise<void> {
    for (const part of request.parts(TURN_ITEMS)) {
      if (coldItems <= 0) return;
      coldItems -= part.items;
      // The request itself is this small, so sending it takes no longer.
      if (part.items === request.items) return;
      await nextTurn();
      try {
        serialise(part.data());
      } catch {
        // Sending it will fail in the same way, and that is reported.
      }
    }
  }

  return (request) => {
    if (coldItems > 0) last = last.then(() => warmUp(request));
    return last;
  };
}
