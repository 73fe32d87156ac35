/** Makes the status documents of this process, which `top` shows, or `run-status.ts` serves. It sends nothing. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Bridge } from '../bridge/bridge.ts';
import type { FoundDocument, FoundTask, RowDocument } from '../health/details.ts';
import { foundDocument, foundTask, rowDocument } from '../health/row-documents.ts';
import { type ServiceDocument, serviceDocument } from '../health/service-document.ts';
import { type BoardOptions, StatusBoard } from '../health/status-board.ts';
import type { StatusDocument } from '../health/status-document.ts';
import type { RowPath } from '../health/status-server.ts';
import { readable } from '../self/process-readings.ts';
import type { EventSink } from '../self/self-event.ts';
import { VERSION } from '../self/version.ts';
import { runCooperatively } from '../timing/cooperative.ts';
import { SERVICE } from './command-log.ts';

/** The subject of the documents: a bridge, or services that are only observed. */
export type StatusSubject = Pick<Bridge, 'state' | 'activity' | 'lookup'>;

export interface StatusDocuments {
  readonly board: StatusBoard;
  /** Receives every self event. */
  readonly note: EventSink;
  status(subject: Pick<StatusSubject, 'state'>): StatusDocument;
  /** The document of the service at that index; undefined if there is none. */
  service(subject: Pick<StatusSubject, 'activity'>, index: number): Promise<ServiceDocument | undefined>;
  /** The document about one task, queue or worker; undefined if there is no such service. */
  row(subject: Pick<StatusSubject, 'lookup'>, row: RowPath): Promise<RowDocument | undefined>;
  /** What all services know of a task id. */
  find(subject: Pick<StatusSubject, 'lookup'>, id: string): Promise<FoundDocument>;
}

export function statusDocuments(options: Omit<BoardOptions, 'self' | 'startedMs'>): StatusDocuments {
  const startedMs = performance.now();
  const board = new StatusBoard({ ...options, self: SERVICE, startedMs });
  return {
    board,
    note: (event) => board.note(event, performance.now()),
    status(subject) {
      const nowMs = performance.now();
      const process = processReading(nowMs - startedMs);
      return board.document({ nowMs, time: new Date(), services: subject.state(), process });
    },
    service: (subject, index) => serviceDocumentOf(subject, options.services[index]),
    row: (subject, row) => rowOf(subject, row, options.services[row.service]),
    find: (subject, id) => findInAll(subject, id, options.services),
  };
}

async function rowOf(
  subject: Pick<StatusSubject, 'lookup'>,
  { kind, name }: RowPath,
  service: string | undefined,
): Promise<RowDocument | undefined> {
  const lookup = service === undefined ? undefined : subject.lookup(service);
  if (service === undefined || lookup === undefined) return undefined;
  return runCooperatively(nextTurn, rowDocument({ time: new Date(), service, lookup }, kind, name));
}

/**
 * Ids are case-sensitive, but UUIDs are often copied in upper case: if an id is not found, it is also looked up in
 * lower case.
 */
async function findInAll(
  subject: Pick<StatusSubject, 'lookup'>,
  id: string,
  services: readonly string[],
): Promise<FoundDocument> {
  const time = new Date();
  const known = services.flatMap((service) => {
    const lookup = subject.lookup(service);
    return lookup === undefined ? [] : [{ time, service, lookup }];
  });
  const tasks: FoundTask[] = [];
  for (const sought of new Set([id, id.toLowerCase()])) {
    for (const source of known) {
      const task = await runCooperatively(nextTurn, foundTask(source, sought));
      if (task !== undefined) tasks.push(task);
    }
    if (tasks.length > 0) break;
  }
  return foundDocument(
    id,
    time,
    tasks,
    known.map(({ lookup }) => lookup),
  );
}

/** The document of one service; yields to the event loop while it makes the document. */
async function serviceDocumentOf(
  subject: Pick<StatusSubject, 'activity'>,
  name: string | undefined,
): Promise<ServiceDocument | undefined> {
  const activity = name === undefined ? undefined : await subject.activity(name);
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
