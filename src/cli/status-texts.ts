/** The documents of the status, made of what happens in this process. They are shown here, or served by `run-status.ts`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Bridge } from '../bridge/bridge.ts';
import { serviceDocument } from '../health/service-document.ts';
import { type BoardOptions, StatusBoard } from '../health/status-board.ts';
import type { StatusDocument } from '../health/status-document.ts';
import { readable } from '../self/process-readings.ts';
import type { EventSink } from '../self/self-event.ts';
import { VERSION } from '../self/version.ts';
import { runCooperatively } from '../timing/cooperative.ts';
import { SERVICE } from './command-log.ts';

/** What services are asked for their state: those of a bridge, or those that are only observed. */
export type Asked = Pick<Bridge, 'state' | 'activity'>;

export interface StatusTexts {
  readonly board: StatusBoard;
  /** Takes everything that happens. */
  readonly note: EventSink;
  document(asked: Pick<Asked, 'state'>): StatusDocument;
  /** Of the service at that place; undefined if there is none. */
  service(asked: Pick<Asked, 'activity'>, place: number): Promise<string | undefined>;
}

export function statusTexts(options: Omit<BoardOptions, 'self' | 'startedMs'>): StatusTexts {
  const startedMs = performance.now();
  const board = new StatusBoard({ ...options, self: SERVICE, startedMs });
  return {
    board,
    note: (event) => board.note(event, performance.now()),
    document(asked) {
      const nowMs = performance.now();
      const process = processReading(nowMs - startedMs);
      return board.document({ nowMs, time: new Date(), services: asked.state(), process });
    },
    service: (asked, place) => serviceText(asked, options.services[place]),
  };
}

/** Long documents are made between other work. */
async function serviceText(
  asked: Pick<Asked, 'activity'>,
  name: string | undefined,
): Promise<string | undefined> {
  const activity = name === undefined ? undefined : await asked.activity(name);
  if (name === undefined || activity === undefined) return undefined;
  return runCooperatively(nextTurn, serviceDocument({ name, time: new Date(), activity }));
}

function processReading(uptimeMs: number) {
  const { user, system } = process.cpuUsage();
  return {
    version: VERSION,
    pid: process.pid,
    uptime_s: Math.round(uptimeMs) / 1000,
    cpu_s: (user + system) / 1e6,
    memory_bytes: readable(() => process.memoryUsage.rss()) ?? null,
  };
}
