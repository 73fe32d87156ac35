/**
 * The table of numeric fields and their plausible ranges. A value out of range, or of another type, is ignored and added to
 * the findings; the rest of the event is used. It contains no event types.
 */

export interface NumericRow {
  /** The name of the field in the event. */
  readonly field: string;
  /** The unit of the value in UCUM, as in the catalog of metrics; `s since 1970` for times; '' for ids. */
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  /** Whether the value must be a whole number. */
  readonly whole: boolean;
  /** What the field is, and why genuine values are in range. */
  readonly meaning: string;
}

/** The largest plausible difference between an event's time and its arrival, ms: no wrong time zone or delay explains more. */
export const CLOCK_OFF_MS_MAX = 24 * 60 * 60 * 1000;

/** The ranges are wide: they only ensure that sums of plausible numbers never overflow. */
const TABLE = {
  timestamp: {
    field: 'timestamp',
    unit: 's since 1970',
    min: 1,
    max: 9_999_999_999,
    whole: false,
    meaning:
      'When the event happened. The maximum is in the year 2286; larger numbers are milliseconds. An event without a timestamp is dropped as `bad-timestamp`. An event whose timestamp is more than a day off its arrival is counted, but gives no duration.',
  },
  pid: {
    field: 'pid',
    unit: '',
    min: 1,
    max: 4_294_967_295,
    whole: true,
    meaning: 'Process id of the sender. Windows has 32 bits for it, other systems fewer.',
  },
  clock: {
    field: 'clock',
    unit: '{event}',
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    whole: true,
    meaning: 'Logical clock of the sender. Beyond 2^53 numbers are no longer exact.',
  },
  retries: {
    field: 'retries',
    unit: '{retry}',
    min: 0,
    max: 1_000_000_000,
    whole: true,
    meaning: 'How often the task was retried before. The maximum is one a second for thirty years.',
  },
  eta: {
    field: 'eta',
    unit: 's since 1970',
    min: -62_135_596_800,
    max: 253_402_300_800,
    whole: false,
    meaning: 'When the task is due, in ISO 8601. Python supports the years 1 to 9999.',
  },
  expires: {
    field: 'expires',
    unit: 's since 1970',
    min: -62_135_596_800,
    max: 253_402_300_800,
    whole: false,
    meaning: 'Until when the task may start, in the format of `eta`.',
  },
  runtime: {
    field: 'runtime',
    unit: 's',
    min: 0,
    max: 1_000_000_000,
    whole: false,
    meaning: 'Runtime of the task. The maximum is thirty years.',
  },
  active: {
    field: 'active',
    unit: '{task}',
    min: 0,
    max: 1_000_000_000,
    whole: true,
    meaning:
      'How many tasks a worker is running. Celery never subtracts tasks that ended without an event, so the number may exceed the size of any pool.',
  },
  processed: {
    field: 'processed',
    unit: '{task}',
    min: 0,
    max: 1_000_000_000_000,
    whole: true,
    meaning:
      'How many tasks a worker has begun since its start. The maximum is a thousand a second for thirty years. If the number has grown since the last report by more than 100,000 per second, plus 500,000 for delays, the growth counts neither as started tasks nor as lost events.',
  },
  loadavg: {
    field: 'loadavg',
    unit: '{run}',
    min: 0,
    max: 10_000_000,
    whole: false,
    meaning: 'A list of three load averages. Linux has at most four million threads.',
  },
  freq: {
    field: 'freq',
    unit: 's',
    min: 0,
    max: 1_000_000,
    whole: false,
    meaning:
      'Time between two heartbeats of a worker. The maximum is eleven days. In timeouts, a time of more than an hour counts as an hour.',
  },
  concurrency: {
    field: 'concurrency',
    unit: '{process}',
    min: 0,
    max: 1_000_000,
    whole: true,
    meaning:
      'Sizes of a worker’s pool and of its autoscaler, by remote control. A host has room for fewer processes; a pool of greenlets has some thousands.',
  },
  prefetch_count: {
    field: 'prefetch_count',
    unit: '{task}',
    min: 0,
    max: 1_000_000_000,
    whole: true,
    meaning: 'How many tasks a worker may hold unacknowledged, by remote control; 0 for no limit.',
  },
  uptime: {
    field: 'uptime',
    unit: 's',
    min: 0,
    max: 1_000_000_000,
    whole: false,
    meaning: 'How long a worker has run, by remote control. The maximum is thirty years.',
  },
  cpu_time: {
    field: 'cpu_time',
    unit: 's',
    min: 0,
    max: 1_000_000_000_000,
    whole: false,
    meaning:
      'CPU time of a worker’s main process, by remote control. The maximum is thirty years on a thousand cores.',
  },
  maxrss: {
    field: 'maxrss',
    unit: 'KiBy',
    min: 0,
    max: 1_000_000_000_000,
    whole: true,
    meaning: 'Peak memory of a worker’s main process, by remote control. The maximum is nearly a pebibyte.',
  },
} as const satisfies Record<string, NumericRow>;

export type NumericField = keyof typeof TABLE;

export const NUMERIC_FIELDS: { readonly [F in NumericField]: NumericRow & { readonly field: F } } = TABLE;

/** A row of the table. */
export type AnyNumericRow = (typeof NUMERIC_FIELDS)[NumericField];

/** A field that was ignored because of its implausible value. */
export interface Implausible {
  readonly field: NumericField;
  /** What is wrong with the value. It contains the type of the value, but never the value itself. */
  readonly detail: string;
}

/** Collects the fields of one message that are ignored. */
export interface Findings {
  /** {@link NOTHING_IMPLAUSIBLE} until a field is ignored. */
  implausible: Implausible[];
}

/** The empty list that all messages without findings share, to save allocations. */
export const NOTHING_IMPLAUSIBLE: Implausible[] = [];
Object.freeze(NOTHING_IMPLAUSIBLE);

/** The number in a field; undefined if the field is missing or implausible. An implausible value is added to the findings. */
export function numeric(value: unknown, row: AnyNumericRow, findings: Findings): number | undefined {
  if (isPlausible(value, row)) return value;
  // A missing field is not a finding.
  if (value !== undefined && value !== null) addFinding(findings, row, flawOf(value, row));
  return undefined;
}

export function isPlausible(value: unknown, { min, max, whole }: NumericRow): value is number {
  return typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value));
}

export function addFinding(findings: Findings, { field }: AnyNumericRow, detail: string): void {
  if (findings.implausible === NOTHING_IMPLAUSIBLE) findings.implausible = [{ field, detail }];
  else findings.implausible.push({ field, detail });
}

/** The reason why a value is implausible, for messages. */
export function flawOf(value: unknown, { min, max, unit }: NumericRow): string {
  if (typeof value !== 'number') return kindOf(value);
  if (!Number.isFinite(value)) return 'not finite';
  const inUnit = unit === '' ? '' : ` ${unit}`;
  if (value < min) return `below ${min}${inUnit}`;
  return value > max ? `above ${max}${inUnit}` : 'not a whole number';
}

/** The JSON type of a value, for messages. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
