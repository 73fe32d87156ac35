/**
 * The state of the bridge, derived from its own events and its current state: whether it is live and ready, and the
 * document of `/status.json`. Pure: time and process are arguments.
 */

import type { StatusConfig } from '../config/config.ts';
import type { SelfEvent } from '../self/self-event.ts';
import type { ServiceState } from '../service/service-state.ts';
import { printable } from '../text/printable.ts';
import { judge } from './judge.ts';
import { type ExportAttempt, type Loss, ServiceHealth } from './service-health.ts';
import { skipped } from './skipped-commands.ts';
import type { StatusDocument, StatusProblem, StatusService } from './status-document.ts';
import { type Finding, plain, someOf } from './symptoms.ts';

export interface BoardOptions {
  readonly services: readonly string[];
  /** The service name of the bridge itself. */
  readonly self: string;
  /** With `once`, a service stays ready when its broker becomes unavailable later: a restart would not help. */
  readonly readiness: StatusConfig['readiness'];
  /** The interval of exports that happen even without events; undefined if there are none. */
  readonly exportIntervalMs: number | undefined;
  /** Whether anything is exported; by default true. */
  readonly isExporting?: boolean;
  /** Monotonic, ms. */
  readonly startedMs: number;
}

/** The current state of the bridge and its process. */
export interface Reading {
  /** Monotonic, ms. */
  readonly nowMs: number;
  /** The version of the document. */
  readonly time: Date;
  readonly services: readonly ServiceState[];
  readonly process: StatusDocument['process'];
}

/** An export that ends, successfully or not, shows that exporting works; an unavailable backend is not our fault. */
const STUCK_MS = 10 * 60_000;
const STUCK_INTERVALS = 10;
/** The document must stay short with any number of services. */
const PROBLEMS_MAX = 100;
/** Workers send a heartbeat every two seconds. */
const UNSEEN_MS = 60_000;

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export class StatusBoard {
  readonly #options: BoardOptions;
  readonly #health: ReadonlyMap<string, ServiceHealth>;
  #exportEndedMs: number;

  constructor(options: BoardOptions) {
    this.#options = options;
    this.#exportEndedMs = options.startedMs;
    this.#health = new Map([...options.services, options.self].map((name) => [name, new ServiceHealth()]));
  }

  /** Receives every event of the bridge. */
  note(event: SelfEvent, nowMs: number): void {
    if (event.kind === 'export-finished') this.#exportEndedMs = nowMs;
    this.#health.get(event.service)?.note(event, nowMs);
  }

  /** Not live: no export has ended for ten minutes or ten intervals, whether it succeeds or fails. A restart helps. */
  live(nowMs: number): Verdict {
    const { exportIntervalMs } = this.#options;
    if (exportIntervalMs === undefined) return { ok: true };
    const silentMs = nowMs - this.#exportEndedMs;
    if (silentMs < Math.max(STUCK_MS, STUCK_INTERVALS * exportIntervalMs)) return { ok: true };
    return { ok: false, reason: `no export has ended for ${Math.round(silentMs / 1000)} s` };
  }

  ready(services: readonly ServiceState[]): Verdict {
    const phases = new Map(services.map(({ name, phase }) => [name, phase]));
    const waiting = this.#options.services.filter((name) => !this.#isReady(name, phases.get(name)));
    if (waiting.length === 0) return { ok: true };
    return { ok: false, reason: `not connected: ${waiting.map(printable).join(', ')}` };
  }

  #isReady(name: string, phase: ServiceState['phase'] | undefined): boolean {
    const { hasConnected = false, isStopping = false } = this.#health.get(name) ?? {};
    if (isStopping || !hasConnected || phase === undefined || phase === 'unusable') return false;
    return this.#options.readiness === 'once' || phase !== 'waiting';
  }

  document(reading: Reading): StatusDocument {
    const { nowMs, time, services } = reading;
    const states = new Map(services.map((state) => [state.name, state]));
    const upMs = nowMs - this.#options.startedMs;
    const found = [...this.#health].flatMap(([name, health]) =>
      judge({ health, nowMs, state: states.get(name), unseenMs: UNSEEN_MS, observedMs: upMs })
        .filter(({ level }) => level !== 'unknown')
        .map((problem) => ({ name, problem })),
    );
    const order = (level: Finding['level']) => found.filter(({ problem }) => problem.level === level);
    const problems = [...order('failure'), ...order('warning')]
      .slice(0, PROBLEMS_MAX)
      .map(({ name, problem }) => problemOf(name, problem));
    const live = this.live(nowMs);
    const ready = this.ready(services);
    const [worst] = problems;
    const { isExporting = true } = this.#options;
    const arrivals = [...this.#health.values()].flatMap(({ exports }) =>
      [...exports.values()].flatMap(({ succeededAtMs }) => succeededAtMs ?? []),
    );
    const exportAgeMs = arrivals.length === 0 ? undefined : nowMs - Math.max(...arrivals);
    const works = { brokers: this.#brokersOf(services), isExporting, exportAgeMs };
    return {
      version: 1,
      time: time.toISOString(),
      ok: live.ok && ready.ok && worst?.level !== 'failure',
      summary: summaryOf({ live, ready, works, unheard: unheardOf(services), problems }),
      live: live.ok,
      ready: ready.ok,
      problems,
      process: reading.process,
      exports: this.#exportsOf(this.#options.self, nowMs),
      services: services.map((state, index) => this.#service(state, index, nowMs)),
    };
  }

  /** The brokers to which services are currently connected. */
  #brokersOf(services: readonly ServiceState[]): number {
    const listening = services.filter(({ phase }) => phase === 'listening');
    return new Set(listening.map(({ name }) => this.#health.get(name)?.broker)).size;
  }

  #exportsOf(name: string, nowMs: number): StatusDocument['exports'] {
    return [...(this.#health.get(name)?.exports ?? [])].map(([signal, attempt]) => ({
      signal,
      ...exportOf(attempt, nowMs),
    }));
  }

  #service(state: ServiceState, index: number, nowMs: number): StatusService {
    const health = this.#health.get(state.name) ?? new ServiceHealth();
    const { events, workers, queues, tables } = state;
    const { asked, polled } = health;
    return {
      name: printable(state.name),
      details: `/services/${index}.json`,
      phase: state.phase,
      broker: health.broker === undefined ? null : printable(health.broker),
      connections: health.connections,
      events: {
        received: events.received,
        per_second: events.perS,
        lag_s: events.lagMs === undefined ? null : events.lagMs / 1000,
        dropped: counts(health.dropped),
      },
      workers:
        workers === undefined
          ? null
          : { known: workers.known, up: workers.up, deaf: workers.deaf, active: workers.active },
      queues:
        queues === undefined
          ? null
          : { polled: queues.polled, waiting: queues.waiting, age_s: queues.ageMs / 1000 },
      control: asked === undefined ? null : attemptOf(asked, nowMs),
      poll: polled === undefined ? null : attemptOf(polled, nowMs),
      exports: this.#exportsOf(state.name, nowMs),
      tables: Object.fromEntries(
        Object.entries(tables).map(([name, { size, limit, evicted }]) => [name, { size, limit, evicted }]),
      ),
      instances: health.instances ?? null,
      defects: health.defects,
      unknown: unknownOf(health),
    };
  }
}

const NAMES_MAX = 3;

/** What celery-otel is doing, for the summary line. */
interface Works {
  /** Connected brokers. */
  readonly brokers: number;
  readonly isExporting: boolean;
  /** Since the last one arrived, ms; undefined if none has. */
  readonly exportAgeMs: number | undefined;
}

interface Summed {
  readonly live: Verdict;
  readonly ready: Verdict;
  readonly works: Works;
  /** Services that are listening and have received nothing yet. */
  readonly unheard: readonly string[];
  readonly problems: readonly StatusProblem[];
}

function unheardOf(services: readonly ServiceState[]): readonly string[] {
  return services
    .filter(({ phase, events }) => phase === 'listening' && events.received === 0)
    .map(({ name }) => printable(name));
}

function summaryOf({ live, ready, works, unheard, problems: [worst, ...others] }: Summed): string {
  if (!live.ok) return `Exporting is stuck: ${live.reason}. Restart celery-otel, and report its log.`;
  if (worst === undefined && !ready.ok) return `Not ready: ${ready.reason}.`;
  if (worst === undefined) return `celery-otel works: ${worksText(works, unheard)}.`;
  const advice = worst.remedy === '' ? '' : ` ${worst.remedy}`;
  const more = others.length === 0 ? '' : ` (${others.length} more: see problems.)`;
  return `${worst.service}: ${worst.line}.${advice}${more}`;
}

/** About celery-otel only, not about the cluster. */
function worksText({ brokers, isExporting, exportAgeMs }: Works, unheard: readonly string[]): string {
  const connected =
    brokers === 0
      ? 'all recordings have been replayed'
      : `${brokers} broker${brokers === 1 ? '' : 's'} connected`;
  // Workers send a heartbeat every two seconds: long before this is a problem, it explains why nothing is shown.
  if (unheard.length > 0)
    return `${connected}, but no event of ${someOf(unheard, NAMES_MAX)} has arrived yet`;
  if (!isExporting) return connected;
  if (exportAgeMs === undefined) return `${connected}, but nothing has been exported yet`;
  return `${connected}, last export ${Math.round(exportAgeMs / 1000)} s ago`;
}

function unknownOf({ skipped: refusals }: ServiceHealth): StatusService['unknown'] {
  const notes = skipped({ skipped: refusals }).filter(({ level }) => level === 'unknown');
  return notes.map(({ code, line, remedy }) => ({ code, line, remedy: plain(remedy) }));
}

function problemOf(service: string, { code, level, line, remedy }: Finding): StatusProblem {
  return {
    service: printable(service),
    code,
    level: level === 'failure' ? level : 'warning',
    line,
    remedy: plain(remedy),
  };
}

function attemptOf(
  { outcome, reason, atMs }: Pick<ExportAttempt, 'outcome' | 'reason' | 'atMs'>,
  nowMs: number,
) {
  return { outcome, reason: printable(reason), age_s: seconds(nowMs - atMs) };
}

function exportOf(attempt: ExportAttempt, nowMs: number) {
  const { backend, failures, items, succeededAtMs } = attempt;
  return {
    backend: printable(backend),
    ...attemptOf(attempt, nowMs),
    items,
    failures,
    success_age_s: succeededAtMs === undefined ? null : seconds(nowMs - succeededAtMs),
  };
}

function counts(losses: ReadonlyMap<string, Loss>): Readonly<Record<string, number>> {
  return Object.fromEntries([...losses].map(([reason, { count }]) => [reason, count]));
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}
