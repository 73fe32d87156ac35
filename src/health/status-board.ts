/**
 * The health of the whole bridge, from its own events and its current state: whether it is live and ready, and the
 * document of `/status.json`. Pure: the time and the process figures are arguments.
 */

import type { StatusConfig } from '../config/config.ts';
import type { SelfEvent } from '../self/self-event.ts';
import type { ServiceState } from '../service/service-state.ts';
import { printable } from '../text/printable.ts';
import { agoOf, seconds } from './document-values.ts';
import { judge } from './judge.ts';
import { byCause, Problems, type ServiceFindings } from './problems.ts';
import { type ExportAttempt, type Loss, ServiceHealth } from './service-health.ts';
import type { StatusDocument, StatusProblem, StatusService } from './status-document.ts';
import { type Finding, someOf, withoutMarkdown, worstOf } from './symptoms.ts';

export interface BoardOptions {
  readonly services: readonly string[];
  /** The name under which the bridge reports events about itself. */
  readonly self: string;
  /**
   * With `any` and `once`, a broker that becomes unavailable later does not end readiness: a restart would not help.
   */
  readonly readiness: StatusConfig['readiness'];
  /** The interval of exports, which happen even without events; undefined if nothing is exported. */
  readonly exportIntervalMs: number | undefined;
  /** Whether anything is exported; by default true. */
  readonly isExporting?: boolean;
  /** When the bridge started, by a monotonic clock. */
  readonly startedMs: number;
}

/** The current state of the bridge and its process. */
export interface Reading {
  /** By a monotonic clock. */
  readonly nowMs: number;
  /** The wall-clock time that belongs to `nowMs`. */
  readonly time: Date;
  readonly services: readonly ServiceState[];
  readonly process: StatusDocument['process'];
}

/**
 * Exporting is stuck if no export has ended for this long. A failed export counts as ended: an unavailable backend is
 * not our fault.
 */
const STUCK_MS = 10 * 60_000;
/** Exporting is stuck after this many intervals, if that is longer. */
const STUCK_INTERVALS = 10;
/** A service without any worker for this long is a problem; workers send a heartbeat every two seconds. */
const UNSEEN_MS = 60_000;

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export class StatusBoard {
  readonly #options: BoardOptions;
  readonly #health: ReadonlyMap<string, ServiceHealth>;
  readonly #problems = new Problems();
  /** When an export last ended, by a monotonic clock; before the first one, the start. */
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

  /** Not live: no export has ended for ten minutes or ten intervals, successfully or not. Then a restart helps. */
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
    const { readiness, services: all } = this.#options;
    const mayWait = readiness === 'any' && waiting.length < all.length;
    if (waiting.length === 0 || mayWait) return { ok: true };
    return { ok: false, reason: `not connected: ${waiting.map(printable).join(', ')}` };
  }

  #isReady(name: string, phase: ServiceState['phase'] | undefined): boolean {
    const { hasConnected = false, isStopping = false } = this.#health.get(name) ?? {};
    if (isStopping || !hasConnected || phase === undefined || phase === 'unusable') return false;
    return this.#options.readiness !== 'connected' || phase !== 'waiting';
  }

  /** Records when problems begin. Call it every few seconds, even if nobody requests the status. */
  look(services: readonly ServiceState[], nowMs: number): void {
    this.#problems.note(this.#judge(services, nowMs), nowMs);
  }

  document(reading: Reading): StatusDocument {
    const { nowMs, time, services } = reading;
    const found = this.#judge(services, nowMs);
    const current = this.#problems.note(found, nowMs);
    const problems = byCause(current, nowMs, time);
    const grades = new Map(
      services.map((state) => [
        state.name,
        worstOf([
          this.#isHeard(state) ? 'fine' : 'unknown',
          ...current.flatMap(({ service, finding }) => (service === state.name ? finding.grade : [])),
        ]),
      ]),
    );
    const worst = worstOf([...grades.values(), ...current.map(({ finding }) => finding.grade)]);
    const live = this.live(nowMs);
    const ready = this.ready(services);
    const unknown = new Map(
      found.map(({ service, findings }) => [service, findings.filter(({ grade }) => grade === 'unknown')]),
    );
    const evidence = this.#fineEvidence(services, nowMs);
    return {
      version: 1,
      time: time.toISOString(),
      grade: live.ok ? worst : 'down',
      summary: summaryOf({ live, ready, evidence, problems, unknown: [...unknown.values()].flat() }),
      live: live.ok,
      ready: ready.ok,
      problems,
      process: reading.process,
      exports: this.#exportsOf(this.#options.self, nowMs),
      services: services.map((state, index) => ({
        ...this.#service(state, index, nowMs),
        grade: grades.get(state.name) ?? 'unknown',
        as_of: this.#asOf(state, nowMs, time),
        unknown: (unknown.get(state.name) ?? []).map(({ code, line, remedy }) => ({
          ...{ code, line, remedy: withoutMarkdown(remedy) },
        })),
      })),
    };
  }

  #judge(services: readonly ServiceState[], nowMs: number): readonly ServiceFindings[] {
    const states = new Map(services.map((state) => [state.name, state]));
    const observedMs = nowMs - this.#options.startedMs;
    return [...this.#health].map(([service, health]) => ({
      service,
      findings: judge({ health, nowMs, state: states.get(service), unseenMs: UNSEEN_MS, observedMs }),
    }));
  }

  /** Whether the service has connected and, while it listens, any event has arrived; otherwise its grade is unknown. */
  #isHeard({ name, phase, events }: ServiceState): boolean {
    if (this.#health.get(name)?.hasConnected !== true || phase === 'unusable') return false;
    return phase !== 'listening' || events.received > 0;
  }

  #asOf({ name, phase }: ServiceState, nowMs: number, time: Date): string | null {
    const lostAtMs = this.#health.get(name)?.lostAtMs;
    if (phase !== 'waiting' || lostAtMs === undefined) return null;
    return agoOf(time, nowMs - lostAtMs);
  }

  #fineEvidence(services: readonly ServiceState[], nowMs: number): FineEvidence {
    const arrivals = [...this.#health.values()].flatMap(({ exports }) =>
      [...exports.values()].flatMap(({ succeededAtMs }) => succeededAtMs ?? []),
    );
    const sum = (count: (state: ServiceState) => number) =>
      services.reduce((total, state) => total + count(state), 0);
    return {
      brokers: this.#brokersOf(services),
      workersUp: sum(({ workers }) => workers?.up ?? 0),
      queuesConsumed: sum(({ queues }) => queues?.consumedCount ?? 0),
      isExporting: this.#options.isExporting ?? true,
      exportAgeMs: arrivals.length === 0 ? undefined : nowMs - Math.max(...arrivals),
      unheard: unheardOf(services),
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

  #service(
    state: ServiceState,
    index: number,
    nowMs: number,
  ): Omit<StatusService, 'grade' | 'as_of' | 'unknown'> {
    const health = this.#health.get(state.name) ?? new ServiceHealth();
    const { events, workers, queues, tables, troubles } = state;
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
      tasks: troubles === undefined ? null : { failed: troubles.failed, lost: troubles.lost },
      control: asked === undefined ? null : attemptOf(asked, nowMs),
      poll: polled === undefined ? null : attemptOf(polled, nowMs),
      exports: this.#exportsOf(state.name, nowMs),
      tables: Object.fromEntries(
        Object.entries(tables).map(([name, { size, limit, evicted }]) => [name, { size, limit, evicted }]),
      ),
      instances: health.instances ?? null,
      defects: health.defects,
    };
  }
}

/** How many names or lines the summary lists. */
const NAMES_MAX = 3;

/** The evidence for “fine” in the summary. */
interface FineEvidence {
  /** How many brokers are connected. */
  readonly brokers: number;
  readonly workersUp: number;
  readonly queuesConsumed: number;
  readonly isExporting: boolean;
  /** How many ms ago the last export arrived; undefined if none has. */
  readonly exportAgeMs: number | undefined;
  /** Services that are connected but have received no event yet. */
  readonly unheard: readonly string[];
}

interface SummaryParts {
  readonly live: Verdict;
  readonly ready: Verdict;
  readonly evidence: FineEvidence;
  readonly problems: readonly StatusProblem[];
  readonly unknown: readonly Finding[];
}

function unheardOf(services: readonly ServiceState[]): readonly string[] {
  return services
    .filter(({ phase, events }) => phase === 'listening' && events.received === 0)
    .map(({ name }) => printable(name));
}

function summaryOf({ live, ready, evidence, problems: [worst, ...others], unknown }: SummaryParts): string {
  if (!live.ok) return `Down: exporting is stuck: ${live.reason}. Restart celery-otel, and report its log.`;
  if (worst === undefined && !ready.ok) return `Not ready: ${ready.reason}.`;
  if (worst === undefined) {
    const lines = [...new Set(unknown.map(({ line }) => line))];
    const notes = lines.length === 0 ? '' : ` Not known: ${someOf(lines, NAMES_MAX)}.`;
    return `${evidence.unheard.length === 0 ? 'Fine' : 'Not known yet'}: ${fineText(evidence)}.${notes}`;
  }
  const advice = worst.remedy === '' ? '' : ` ${worst.remedy}`;
  const more = others.length === 0 ? '' : ` (${others.length} more: see problems.)`;
  const grade = worst.grade === 'down' ? 'Down' : 'Degraded';
  const services = someOf(worst.services, NAMES_MAX, worst.service_count);
  return `${grade}: ${services}: ${worst.line}.${advice}${more}`;
}

function fineText({
  brokers,
  workersUp,
  queuesConsumed,
  isExporting,
  exportAgeMs,
  unheard,
}: FineEvidence): string {
  // Workers send a heartbeat every two seconds, so this explains early why nothing is shown.
  const silence = unheard.length === 0 ? [] : [`no event of ${someOf(unheard, NAMES_MAX)} has arrived yet`];
  const exported =
    exportAgeMs === undefined
      ? 'nothing has been exported yet'
      : `last export ${Math.round(exportAgeMs / 1000)} s ago`;
  return [
    brokers === 0 ? 'all recordings have been replayed' : `${counted(brokers, 'broker')} connected`,
    ...silence,
    ...(workersUp > 0 ? [`${counted(workersUp, 'worker')} up`] : []),
    ...(queuesConsumed > 0 ? [`${counted(queuesConsumed, 'queue')} consumed`] : []),
    ...(isExporting ? [exported] : []),
  ].join(', ');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
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
