/**
 * The table of numeric fields: which numbers an event has, and between which bounds each is plausible. What is outside,
 * or no number at all, is taken as not told and noted; the rest of the event goes on. It knows no event type.
 */

export interface NumericRow {
  /** The name of its field. */
  readonly field: string;
  /** As UCUM writes it, as in the catalog of metrics; `s since 1970` of times. */
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  /** Whether it is a whole number. */
  readonly whole: boolean;
  /** What it is, and why nothing honest is outside. */
  readonly meaning: string;
}

/** A clock that is wrong by more tells no time: more than any error of time zones, or any way to us takes. */
export const CLOCK_OFF_MS_MAX = 24 * 60 * 60 * 1000;

/** The bounds are chosen wide: no more is asked of them than that no sum of plausible numbers ever leaves its type. */
const TABLE = {
  timestamp: {
    field: 'timestamp',
    unit: 's since 1970',
    min: 1,
    max: 9_999_999_999,
    whole: false,
    meaning:
      'When it happened. The latest is in the year 2286: what is beyond it is in milliseconds. Without it an event is not counted, as `bad-timestamp`. Where it is more than a day off the time at which the event came, the event is counted, and no duration is made of it.',
  },
  pid: {
    field: 'pid',
    unit: '',
    min: 1,
    max: 4_294_967_295,
    whole: true,
    meaning: 'Process of the emitter. Windows has 32 bits for it, other systems fewer.',
  },
  clock: {
    field: 'clock',
    unit: '{event}',
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    whole: true,
    meaning: 'Logical clock of the emitter. Beyond 2^53 two of them could not be told apart.',
  },
  retries: {
    field: 'retries',
    unit: '{retry}',
    min: 0,
    max: 1_000_000_000,
    whole: true,
    meaning: 'How often the task was retried before. One a second for thirty years.',
  },
  eta: {
    field: 'eta',
    unit: 's since 1970',
    min: -62_135_596_800,
    max: 253_402_300_800,
    whole: false,
    meaning: 'When the task is due, as a text in ISO 8601. Python knows the years 1 to 9999.',
  },
  expires: {
    field: 'expires',
    unit: 's since 1970',
    min: -62_135_596_800,
    max: 253_402_300_800,
    whole: false,
    meaning: 'Until when the task may begin, as `eta`.',
  },
  runtime: {
    field: 'runtime',
    unit: 's',
    min: 0,
    max: 1_000_000_000,
    whole: false,
    meaning: 'Time in the task itself. Thirty years.',
  },
  active: {
    field: 'active',
    unit: '{task}',
    min: 0,
    max: 1_000_000_000,
    whole: true,
    meaning:
      'Tasks that a worker runs. Celery never takes off it what ended without a word, so it may be more than any pool has room for.',
  },
  processed: {
    field: 'processed',
    unit: '{task}',
    min: 0,
    max: 1_000_000_000_000,
    whole: true,
    meaning: 'Tasks that a worker has begun since its start. A thousand a second for thirty years.',
  },
  loadavg: {
    field: 'loadavg',
    unit: '{run}',
    min: 0,
    max: 10_000_000,
    whole: false,
    meaning: 'A list of three load averages. Linux has four million threads at most.',
  },
} as const satisfies Record<string, NumericRow>;

export type NumericField = keyof typeof TABLE;

export const NUMERIC_FIELDS: { readonly [F in NumericField]: NumericRow & { readonly field: F } } = TABLE;

/** A row of the table. */
export type AnyNumericRow = (typeof NUMERIC_FIELDS)[NumericField];

/** A field that is taken as not told. */
export interface Implausible {
  readonly field: NumericField;
  /** What is wrong with it, short; of the value itself only its type. */
  readonly detail: string;
}

/** Where readers leave what they do not take. */
export interface Findings {
  /** {@link NOTHING_IMPLAUSIBLE} until there is something. */
  implausible: Implausible[];
}

/** Shared by all messages that are as they should be, which is nearly all of them; nothing is ever added to it. */
export const NOTHING_IMPLAUSIBLE: Implausible[] = [];
Object.freeze(NOTHING_IMPLAUSIBLE);

/** The number in a field; undefined where it is not told, or is none that is plausible, which is then noted. */
export function numeric(value: unknown, row: AnyNumericRow, findings: Findings): number | undefined {
  if (isPlausible(value, row)) return value;
  // What is not there is no defect.
  if (value !== undefined && value !== null) note(findings, row, flawOf(value, row));
  return undefined;
}

export function isPlausible(value: unknown, { min, max, whole }: NumericRow): value is number {
  return typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value));
}

export function note(findings: Findings, { field }: AnyNumericRow, detail: string): void {
  if (findings.implausible === NOTHING_IMPLAUSIBLE) findings.implausible = [{ field, detail }];
  else findings.implausible.push({ field, detail });
}

/** What is wrong with a value that is not plausible. */
export function flawOf(value: unknown, { min, max, unit }: NumericRow): string {
  if (typeof value !== 'number') return kindOf(value);
  if (!Number.isFinite(value)) return 'not finite';
  const inUnit = unit === '' ? '' : ` ${unit}`;
  if (value < min) return `below ${min}${inUnit}`;
  return value > max ? `above ${max}${inUnit}` : 'not whole';
}

/** What a value is, in JSON’s own kinds. */
export function kindOf(value: unknown): string {
  switch (typeof value) {
    case 'number':
      return 'a number';
    case 'string':
      return 'a text';
    case 'boolean':
      return 'true or false';
    default:
      return Array.isArray(value) ? 'a list' : 'an object';
  }
}
