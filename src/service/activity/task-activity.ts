/** The activity of the tasks of one name: recent counts, runtimes and exceptions, and totals. Its size is bounded. */
import type { Observation } from '../../cluster/observation.ts';
import { type HourReading, LastHour } from './last-hour.ts';
import { LogHistogram } from './log-histogram.ts';
import { Recent } from './recent.ts';

/** The start and the ends of runs: each is a column of counts. */
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

/** Of one window. */
const ERRORS_MAX = 10;
/** Of the exceptions shown. */
const ERRORS_SHOWN = 3;

/** Of one task name; undefined: nothing to report. */
export interface TaskReading {
  /** In the last minutes. */
  readonly recent: Counts;
  /** Since the start. */
  readonly total: Counts;
  /** Runs that started without an end so far: those that execute, and those that ended unseen. */
  readonly open: number;
  /** In the last minutes, of runs that succeeded or failed. */
  readonly failureRatio: number | undefined;
  readonly runtimeP50S: number | undefined;
  readonly runtimeP95S: number | undefined;
  /** The most frequent ones of the last minutes, of failures and retries. */
  readonly errors: readonly (readonly [type: string, count: number])[];
  readonly seenMs: number;
}

/** Of one task name, in the last minutes. */
export interface TaskTrouble {
  readonly failed: number;
  /** Runs that succeeded or failed. */
  readonly ended: number;
  readonly lost: number;
  /** By the clock of arrivals, ms; undefined if it has never failed. */
  readonly firstFailedMs: number | undefined;
  errors(): TaskReading['errors'];
}

/** What its plots show. */
const PLOTTED = ['succeeded', 'failed', 'retried', 'lost'] as const;

export type TaskHourReading = HourReading<(typeof PLOTTED)[number]>;

function isPlotted(step: Step): step is (typeof PLOTTED)[number] {
  return PLOTTED.some((each) => each === step);
}

const none = (): Record<Step, number> => ({
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
  counts = none();
  /** None before the first runtime or error: in a flood of names most have neither. */
  runtimes: LogHistogram | undefined;
  errors: Map<string, number> | undefined;

  clear(): void {
    this.counts = none();
    this.runtimes?.clear();
    this.errors = undefined;
  }
}

export type OfTask = Extract<Observation, { readonly run: unknown }>;

/** The count of each kind of observation; other kinds are not counted. */
const COUNTED: { readonly [K in OfTask['kind']]?: Step } = {
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
  readonly #total = none();
  /** Made with the first end: in a flood of names most have none. */
  #hour: LastHour<(typeof PLOTTED)[number]> | undefined;
  #open = 0;
  #seenMs = 0;
  /** By the clock of arrivals, ms; undefined before the first. */
  #firstFailedMs: number | undefined;

  get seenMs(): number {
    return this.#seenMs;
  }

  observe(it: OfTask, nowMs: number): void {
    this.#seenMs = nowMs;
    this.#open = Math.max(0, this.#open + opened(it));
    const window = this.#windows.at(nowMs);
    const step = COUNTED[it.kind];
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

  /** Minute by minute; undefined before the first end. */
  hour(nowMs: number): TaskHourReading | undefined {
    return this.#hour?.read(nowMs);
  }

  #inHour(): LastHour<(typeof PLOTTED)[number]> {
    this.#hour ??= new LastHour({ counts: PLOTTED, samples: [] });
    return this.#hour;
  }

  /** What may be wrong with it; cheaper than all that `read` returns. */
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
    const recent = none();
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

/** The change in the number of open runs. */
function opened(it: OfTask): number {
  switch (it.kind) {
    case 'task-sent':
    case 'task-received':
      return 0;
    case 'task-started':
    // Its end will follow.
    case 'loss-refuted':
      return 1;
    case 'task-revoked':
      // Otherwise it had not started.
      return it.revocation === 'terminated' ? -1 : 0;
    default:
      return -1;
  }
}

/** Types beyond the bound are not kept: a program that makes a new type each time has no frequent ones. */
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
