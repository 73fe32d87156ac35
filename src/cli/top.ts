/**
 * `celery-otel top`: shows the content of the status page in a terminal, for a running instance, a live service, or a
 * recording. It exports nothing and changes nothing.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { startPeriodicChecks } from '../bridge/periodic-checks.ts';
import { isReplay } from '../broker/kinds.ts';
import type { Config } from '../config/config.ts';
import { metricsAsked } from '../meter/catalog.ts';
import type { EventSink } from '../self/self-event.ts';
import { openService, type PollingChoice } from '../service/service.ts';
import { createYieldToLoop } from '../timing/cooperative.ts';
import type { CommandIo } from './command-io.ts';
import { SERVICE } from './command-log.ts';
import { EXIT_CODE } from './exit-code.ts';
import { atFullSpeed } from './full-speed.ts';
import { reportMistakes, reportWarnings } from './print.ts';
import { printReport, printReports, showView } from './show-view.ts';
import { type Documents, SnapshotSource } from './snapshot-source.ts';
import { statusClient } from './status-client.ts';
import { type StatusDocuments, type StatusSubject, statusDocuments } from './status-documents.ts';
import { readTopRequest, type TopRequest } from './top-request.ts';
import { untilStopped } from './until-stopped.ts';

/** Where the documents come from. */
interface Source {
  readonly documents: Documents;
  /** Resolves when nothing more can arrive, with whether the source was usable. */
  readonly over: Promise<boolean>;
  /** Whether it is a recording: then totals matter, not the last minutes. */
  readonly isRecording: boolean;
}

/** @returns 1 if the source is unusable */
export async function top(argv: readonly string[], io: CommandIo): Promise<number> {
  const request = readTopRequest(argv, io.env);
  if (!request.ok) return reportMistakes('top', request.mistakes, io);
  reportWarnings(request.warnings, io);
  // Warnings of Node would appear in the middle of the view.
  io.warnings.removeAllListeners('warning');
  const ending = new AbortController();
  const terminal = request.isOnce ? undefined : io.terminal?.();
  const looked = sourceOf(request, terminal === undefined, ending.signal);
  const source = new SnapshotSource(looked.documents);
  const shown = terminal && showView(source, terminal, looked.isRecording);
  const finished =
    shown === undefined ? reports(source, looked, request, io, ending.signal) : shown.ended.then(() => true);
  const job = {
    start: () => {},
    finished,
    async stop() {
      shown?.close();
      ending.abort();
      await Promise.all([looked.over, finished.catch(() => {})]);
    },
  };
  const end = await untilStopped(job, io, () => {}).finally(() => shown?.close());
  return end === false ? EXIT_CODE.failed : EXIT_CODE.ok;
}

function sourceOf({ from }: TopRequest, isAtFullSpeed: boolean, signal: AbortSignal): Source {
  if (from.kind === 'address') {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    signal.addEventListener('abort', () => resolve(true), { once: true });
    return { documents: statusClient(from.address, { signal }), over: promise, isRecording: false };
  }
  const services = isAtFullSpeed ? from.services.map(atFullSpeed) : from.services;
  return observed(services, signal);
}

/**
 * Listens to services in this process: declares nothing permanent, polls only the lengths of queues, and sends workers
 * no commands.
 */
function observed(services: readonly Service[], signal: AbortSignal): Source {
  const names = services.map(({ name }) => name);
  const documents = statusDocuments({
    ...{ services: names, readiness: 'any', exportIntervalMs: undefined, isExporting: false },
  });
  const report: EventSink = (event) => documents.note(event);
  const yieldToLoop = createYieldToLoop();
  const all = services.map((config) =>
    openService({
      ...{ name: config.name, broker: config.broker, cluster: config.cluster, staleAfter: config.staleAfter },
      ...{ report, random: Math.random, yieldToLoop, signal },
      polling: withoutWorkers(config),
      activity: true,
      isObserver: true,
    }),
  );
  // Events that a recording still holds at its end are applied then, while others go on.
  for (const service of all) void service.done.then(() => service.stop());
  const stopChecks = startPeriodicChecks({ services: all, self: SERVICE, report });
  const over = Promise.all(all.map(({ done }) => done)).then(async (ends) => {
    stopChecks();
    await Promise.all(all.map((service) => service.stop()));
    return !ends.includes('unusable');
  });
  const subject: Subject = {
    state: () => all.map((service) => service.state()),
    async activity(name) {
      const activity = await all.find((service) => service.name === name)?.activity();
      return activity && { ...activity, series: undefined };
    },
  };
  return { documents: documentsOf(documents, subject), over, isRecording: services.every(isRecording) };
}

/** Polls queues as `run` does, sends workers no commands, and changes nothing. */
function withoutWorkers({ polls, control, taskDefaultQueue, choice }: Service): PollingChoice {
  const ofWorkers = new Set(metricsAsked('workers'));
  const metrics = new Set([...choice.metrics].filter((metric) => !ofWorkers.has(metric)));
  return {
    ...{ polls, taskDefaultQueue },
    control: { ...control, enableEvents: false },
    choice: { ...choice, metrics },
  };
}

type Subject = Pick<StatusSubject, 'state' | 'activity'>;

/** The documents of this process, which can always be reached. */
export function documentsOf(made: StatusDocuments, subject: Subject): Documents {
  return {
    remedy: '',
    status: async () => made.status(subject),
    service: (index) => made.service(subject, index),
  };
}

/**
 * Prints reports without a terminal: one at the end of a recording, otherwise one per interval. @returns whether the
 * source was usable
 */
async function reports(
  source: SnapshotSource,
  { over, isRecording }: Source,
  { from, isOnce, intervalMs }: TopRequest,
  io: CommandIo,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isOnce && !isRecording) {
    await printReports(source, io, intervalMs, signal);
    return true;
  }
  // A live service needs some time until events arrive.
  if (isRecording) await over;
  else if (from.kind === 'services') await delay(intervalMs, undefined, { signal }).catch(() => {});
  const { unreachable } = await printReport(source, io, isRecording);
  return unreachable === undefined && (!isRecording || (await over));
}

type Service = Config['services'][number];

function isRecording({ broker }: Service): boolean {
  return isReplay(broker.urls);
}
