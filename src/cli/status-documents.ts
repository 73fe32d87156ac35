/** The status documents of this process. They are shown in its terminal, or served by `run-status.ts`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Bridge } from '../bridge/bridge.ts';
import {
  type FoundDocument,
  type FoundTask,
  foundDocument,
  foundTask,
  type RowDocument,
  rowDocument,
} from '../health/row-documents.ts';
import { type ServiceDocument, serviceDocument } from '../health/service-document.ts';
import { type BoardOptions, StatusBoard } from '../health/status-board.ts';
import type { StatusDocument } from '../health/status-document.ts';
import type { RowPath } from '../health/status-server.ts';
import { readable } from '../self/process-readings.ts';
import type { EventSink } from '../self/self-event.ts';
import { VERSION } from '../self/version.ts';
import { runCooperatively } from '../timing/cooperative.ts';
import { SERVICE } from './command-log.ts';

/** What the documents are about: a bridge, or services that are only observed. */
export type StatusSubject = Pick<Bridge, 'state' | 'activity' | 'lookup'>;

export interface StatusDocuments {
  readonly board: StatusBoard;
  /** Takes every self event. */
  readonly note: EventSink;
  status(asked: Pick<StatusSubject, 'state'>): StatusDocument;
  /** Of the service at that index; undefined if there is none. */
  service(asked: Pick<StatusSubject, 'activity'>, index: number): Promise<ServiceDocument | undefined>;
  /** Of one task, queue or worker of that service; undefined if there is no such service. */
  row(asked: Pick<StatusSubject, 'lookup'>, row: RowPath): Promise<RowDocument | undefined>;
  /** What all services know of a task id. */
  find(asked: Pick<StatusSubject, 'lookup'>, id: string): Promise<FoundDocument>;
}

export function statusDocuments(options: Omit<BoardOptions, 'self' | 'startedMs'>): StatusDocuments {
  const startedMs = performance.now();
  const board = new StatusBoard({ ...options, self: SERVICE, startedMs });
  return {
    board,
    note: (event) => board.note(event, performance.now()),
    status(asked) {
      const nowMs = performance.now();
      const process = processReading(nowMs - startedMs);
      return board.document({ nowMs, time: new Date(), services: asked.state(), process });
    },
    service: (asked, index) => detailsOf(asked, options.services[index]),
    row: (asked, row) => rowOf(asked, row, options.services[row.service]),
    find: (asked, id) => found(asked, id, options.services),
  };
}

async function rowOf(
  asked: Pick<StatusSubject, 'lookup'>,
  { kind, name }: RowPath,
  service: string | undefined,
): Promise<RowDocument | undefined> {
  const lookup = service === undefined ? undefined : asked.lookup(service);
  if (service === undefined || lookup === undefined) return undefined;
  return runCooperatively(nextTurn, rowDocument({ time: new Date(), service, lookup }, kind, name));
}

/** Ids differ by case, but uuids are often copied in upper case: what is not found is looked for in lower case, too. */
async function found(
  asked: Pick<StatusSubject, 'lookup'>,
  id: string,
  services: readonly string[],
): Promise<FoundDocument> {
  const time = new Date();
  const known = services.flatMap((service) => {
    const lookup = asked.lookup(service);
    return lookup === undefined ? [] : [{ time, service, lookup }];
  });
  const each: FoundTask[] = [];
  for (const sought of new Set([id, id.toLowerCase()])) {
    for (const of of known) {
      const task = await runCooperatively(nextTurn, foundTask(of, sought));
      if (task !== undefined) each.push(task);
    }
    if (each.length > 0) break;
  }
  return foundDocument(
    id,
    time,
    each,
    known.map(({ lookup }) => lookup),
  );
}

/** Yields the event loop while it makes long documents. */
async function detailsOf(
  asked: Pick<StatusSubject, 'activity'>,
  name: string | undefined,
): Promise<ServiceDocument | undefined> {
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
