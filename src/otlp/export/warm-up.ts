/**
 * Has the code compiled that serialises requests, before a large one is sent for the first time: until then it takes ten
 * times as long, and nothing else has a turn meanwhile. It sends nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import type { ExportRequest } from './export-request.ts';

/** What is waited for before a request is sent. */
export type WarmUp = (request: ExportRequest) => Promise<void>;

/** By then it is compiled. */
const COLD_POINTS = 1000;
/** Of one turn, which takes 10 ms at first. */
const TURN_POINTS = 50;

/** Of a process: JSON is native code, and protobuf, which the two other protocols have, is not. */
export function createWarmUp(): WarmUp {
  let coldPoints = COLD_POINTS;
  let last = Promise.resolve();

  async function warmUp(request: ExportRequest): Promise<void> {
    for (const part of request.parts(TURN_POINTS)) {
      if (coldPoints <= 0) return;
      coldPoints -= part.points;
      // One that is that small is sent as quickly.
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
    // Whoever sends it will meet that again, and tell.
  }
}
