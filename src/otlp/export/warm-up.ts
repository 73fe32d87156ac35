/**
 * Warms up the serialiser before the first large request: until V8 has compiled it, it takes ten times as long, and blocks
 * the event loop meanwhile. It sends nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import type { ExportRequest } from './export-request.ts';

/** Awaited before each request is sent. */
export type WarmUp = (request: ExportRequest) => Promise<void>;

/** After so many points the serialiser is compiled. */
const COLD_POINTS = 1000;
/** Serialised without yielding, which takes 10 ms at first. */
const TURN_POINTS = 50;

/** Only protobuf is warmed up, since JSON is native code. */
export function createWarmUp(): WarmUp {
  let coldPoints = COLD_POINTS;
  let last = Promise.resolve();

  async function warmUp(request: ExportRequest): Promise<void> {
    for (const part of request.parts(TURN_POINTS)) {
      if (coldPoints <= 0) return;
      coldPoints -= part.points;
      // The request itself is this small, so sending it takes no longer.
      if (part.points === request.points) return;
      await nextTurn();
      serialise(part);
    }
  }

  return (request) => {
    if (coldPoints > 0) last = last.then(() => warmUp(request));
    return last;
  };
}

function serialise(request: ExportRequest): void {
  try {
    ProtobufMetricsSerializer.serializeRequest(request.metrics());
  } catch {
    // Sending it will fail in the same way, and that is reported.
  }
}
