/**
 * The activity of the tasks of one name: recent counts, runtimes and exceptions, and totals since the start. Its size
 * is bounded.
 */
import type { Observation } from '../../cluster/observation.ts';
import { type HourReading, LastHour } from './last-hour.ts';
import { LogHistogram } from './log-histogram.ts';
import { Recent } from './recent.ts';

/** The start and the possible ends of a run; each has a count. */
export const STEPS = [
  'started',
  'succeeded',
  'failed',
  'retried',
  'rejected',
  'revoked',
  'cancelled',
  'lost',
] as const;

export type Step = (typeof STEPS)[number];

export type Counts = Readonly<Record<Step, number>>;

/** How many exception types are counted in each window. */
const ERRORS_MAX = 10;
/** How many exception types a reading returns. */
const ERRORS_SHOWN = 3;

/** The activity of one task name. */
export interface TaskReading {
  /** Counts of the last five to ten minutes. */
  readonly recent: Counts;
  /** Counts since the start. */
  readonly total: Counts;
  /** Runs that started and have no known end: those that are executing, and those whose end was not seen. */
  readonly open: number;
  /** Failures among the recent runs that succeeded or failed, from 0 to 1; undefined if there were none. */
  readonly failureRatio: number | undefined;
  readonly runtimeP50S: number | undefined;
  readonly runtimeP95S: number | undefined;
  /** The most frequent exception types of recent failures and retries, most frequent first. */
  readonly errors: readonly (readonly [type: string, count: number])[];
  readonly seenMs: number;
}

/** Failures and losses of one task name in the last five to ten minutes. */
export interface TaskTrouble {
  readonly failed: number;
  /** Runs that succeeded or failed. */
  readonly ended: number;
  readonly lost: number;
  /** When the first failure ever arrived, by the clock of arrivals; undefined if there was none. */
  readonly firstFailedMs: number | undefined;
  errors(): TaskReading['errors'];
}

/** The counts that the plots show. */
const PLOTTED = ['succeeded', 'failed', 'retried', 'lost'] as const;

export type TaskHourReading = HourReading<(typeof PLOTTED)[number]>;

function isPlotted(step: Step): step is (typeof PLOTTED)[number] {
  return PLOTTED.some((each) => each === step);
}

const zeroCounts = (): Record<Step, number> => ({
  started: 0,
  succeeded: 0,
  failed: 0,
  retried: 0,
  rejected: 0,
  revoked: 0,
  cancelled: 0,
  lost: 0,
});

class Window {
  counts = zeroCounts();
  /** Undefined before the first runtime or exception: in a flood of names most tasks have neither. */
  runtimes: LogHistogram | undefined;
  errors: Map<string, number> | undefined;

  clear(): void {
    this.counts = zeroCounts();
    this.runtimes?.clear();
    this.errors = undefined;
  }
}

export type TaskObservation = Extract<Observation, { readonly run: unknown }>;

/** The count that each kind of observation increases; other kinds are not counted. */
const STEP_OF: { readonly [K in TaskObservation['kind']]?: Step } = {
  'task-started': 'started',
  'task-succeeded': 'succeeded',
  'task-failed': 'failed',
  'task-retried': 'retried',
  'task-rejected': 'rejected',
  'task-revoked': 'revoked',
  'task-cancelled': 'cancelled',
  'task-lost': 'lost',
};

export class TaskActivity {
  readonly #windows = new Recent(() => new Window());
  readonly #total = zeroCounts();
  /** Made with the first end: in a flood of names most tasks have none. */
  #hour: LastHour<(typeof PLOTTED)[number]> | undefined;
  #open = 0;
  #seenMs = 0;
  /** By the clock of arrivals; undefined before the first failure. */
  #firstFailedMs: number | undefined;

  get seenMs(): number {
    return this.#seenMs;
  }

  observe(it: TaskObservation, nowMs: number): void {
    this.#seenMs = nowMs;
    this.#open = Math.max(0, this.#open + openRunsChange(it));
    const window = this.#windows.at(nowMs);
    const step = STEP_OF[it.kind];
    if (step !== undefined) {
      window.counts[step] += 1;
      this.#total[step] += 1;
      if (isPlotted(step)) this.#inHour().count(step, nowMs);
    } else if (it.kind === 'loss-refuted') {
      window.counts.lost = Math.max(0, window.counts.lost - 1);
      this.#total.lost = Math.max(0, this.#total.lost - 1);
      this.#hour?.takeBack('lost', nowMs);
    }
    if ('runtimeS' in it && it.runtimeS !== undefined) {
      window.runtimes ??= new LogHistogram();
      window.runtimes.add(it.runtimeS);
      this.#inHour().duration(it.runtimeS, nowMs);
    }
    if ('errorType' in it) addError(window, it.errorType);
    if (it.kind === 'task-failed') this.#firstFailedMs ??= nowMs;
  }

  /** The last hour, minute by minute; undefined before the first end. */
  hour(nowMs: number): TaskHourReading | undefined {
    return this.#hour?.read(nowMs);
  }

  #inHour(): LastHour<(typeof PLOTTED)[number]> {
    this.#hour ??= new LastHour({ counts: PLOTTED, samples: [] });
    return this.#hour;
  }

  /** Recent failures and losses; cheaper than `read`. */
  trouble(nowMs: number): TaskTrouble {
    const windows = this.#windows.read(nowMs);
    const sum = (step: Step) => windows.reduce((total, { counts }) => total + counts[step], 0);
    const failed = sum('failed');
    return {
      failed,
      ended: failed + sum('succeeded'),
      lost: sum('lost'),
      firstFailedMs: this.#firstFailedMs,
      errors: () => topErrors(windows),
    };
  }

  read(nowMs: number): TaskReading {
    const windows = this.#windows.read(nowMs);
    const recent = zeroCounts();
    for (const step of STEPS) for (const { counts } of windows) recent[step] += counts[step];
    const ended = recent.failed + recent.succeeded;
    const runtimes = windows.flatMap((window) => window.runtimes ?? []);
    return {
      recent,
      total: { ...this.#total },
      open: this.#open,
      failureRatio: ended === 0 ? undefined : recent.failed / ended,
      runtimeP50S: LogHistogram.quantile(runtimes, 0.5),
      runtimeP95S: LogHistogram.quantile(runtimes, 0.95),
      errors: topErrors(windows),
      seenMs: this.#seenMs,
    };
  }
}

/** By how much this observation changes the number of open runs. */
function openRunsChange(it: TaskObservation): number {
  switch (it.kind) {
    case 'task-sent':
    case 'task-received':
      return 0;
    case 'task-started':
    // The run that was counted as lost is still open: its real end will follow.
    case 'loss-refuted':
      return 1;
    case 'task-revoked':
      // Any other revoked run had not started.
      return it.revocation === 'terminated' ? -1 : 0;
    default:
      return -1;
  }
}

/** Types beyond the bound are not counted: a program that makes a new type each time has no frequent ones. */
function addError(window: Window, type: string): void {
  window.errors ??= new Map();
  const count = window.errors.get(type);
  if (count !== undefined || window.errors.size < ERRORS_MAX) window.errors.set(type, (count ?? 0) + 1);
}

function topErrors(windows: readonly Window[]): TaskReading['errors'] {
  const sums = new Map<string, number>();
  for (const { errors } of windows)
    for (const [type, count] of errors ?? []) sums.set(type, (sums.get(type) ?? 0) + count);
  return [...sums].sort(([, one], [, other]) => other - one).slice(0, ERRORS_SHOWN);
}
