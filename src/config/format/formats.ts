/**
 * The formats of option values: each accepts a text as a whole, or rejects it and returns what was expected. Lists,
 * endpoints and TLS files are in other files of this folder; this file names no option.
 */
import { type BrokerUrls, parseBrokerUrls } from '../../broker/broker-url.ts';
import { LOG_LEVELS, type LogLevel, OTHER_LEVELS } from '../../self/log-level.ts';
import { hint } from '../../text/suggestion.ts';
import { MASK, maskUrl, quote } from './redaction.ts';

/** A value, or the rest of an error message after the word "expected". */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly expected: string };

interface NumberSchema {
  readonly type: 'integer' | 'number';
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

/** The JSON Schema type of a value in a configuration file. */
export type ScalarSchema =
  | { readonly type: 'boolean' }
  | NumberSchema
  | { readonly type: 'string'; readonly enum?: readonly string[]; readonly maxLength?: number };

type Unit = 'seconds' | 'milliseconds' | 'bytes';

export interface Format<T> {
  /** What the format accepts, in a few words, for messages and documents. */
  readonly expects: string;
  readonly schema: ScalarSchema;
  /** The unit of a number; it is part of `expects`, never of a value’s text. */
  readonly unit?: Unit | undefined;
  /** Whether a value must never be printed. */
  readonly isSecret?: true;
  /** For a list, the separator of its items; a file may also contain a YAML list. */
  readonly list?: { readonly separator: ';' | ',' | '\n'; readonly items: ScalarSchema };
  /** Whether the value may also be a boolean in a file; false stands for ''. */
  readonly orSwitch?: true;
  /** The numbers that a file may contain instead of a text. */
  readonly numbers?: NumberSchema;
  /** Reads a trimmed, non-empty text. */
  read(text: string): Reading<T>;
  /** The text, safe to print. */
  show(text: string): string;
}

/** Makes a format; `expects` is the error message unless `read` has a more specific one. */
export function format<T>(
  expects: string,
  read: (text: string) => Reading<T> | undefined,
  parts?: Partial<Omit<Format<T>, 'expects' | 'read'>>,
): Format<T> {
  const byDefault = { schema: { type: 'string' }, show: quote } as const;
  return { ...byDefault, ...parts, expects, read: (text) => read(text) ?? { ok: false, expected: expects } };
}

/** @param written matches the accepted ways to write the number */
function number(expects: string, written: RegExp, schema: NumberSchema, unit?: Unit): Format<number> {
  const read = (text: string): Reading<number> | undefined => {
    const value = written.test(text) ? Number(text) : Number.NaN;
    return isWithin(schema, value) ? { ok: true, value } : undefined;
  };
  return format(expects, read, { schema, unit });
}

/** Whether a number fits a schema. @param scale how many units of the value one unit of the schema has */
export function isWithin(schema: NumberSchema, value: number, scale = 1): boolean {
  const { type, minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Number.MAX_VALUE } = schema;
  const isAbove = value >= minimum * scale && value > exclusiveMinimum * scale;
  return isAbove && value <= maximum * scale && (type === 'number' || Number.isInteger(value));
}

/** A whole number from `min` to `max`, without exponent, fraction or plus sign. */
export function wholeNumber(min: number, max: number, unit?: Unit): Format<number> {
  const expects = `${unit === undefined ? '' : `${unit}, `}a whole number from ${min} to ${max}`;
  return number(expects, /^-?\d{1,15}$/, { type: 'integer', minimum: min, maximum: max }, unit);
}

export const finiteNumber = number('a finite number', /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i, { type: 'number' });

/** Seconds, above 0 and at most `maxS`, with up to three decimals. */
export function seconds(maxS: number): Format<number> {
  const schema = { type: 'number', exclusiveMinimum: 0, maximum: maxS } as const;
  return number(`seconds, above 0 and at most ${maxS}`, /^\d{1,9}(\.\d{1,3})?$/, schema, 'seconds');
}

/** Seconds from 0 to `maxS`, with up to three decimals. */
export function secondsOrNone(maxS: number): Format<number> {
  const schema = { type: 'number', minimum: 0, maximum: maxS } as const;
  return number(`seconds from 0 to ${maxS}`, /^\d{1,9}(\.\d{1,3})?$/, schema, 'seconds');
}

/** Seconds from 0 to `maxS`, with up to three decimals, or `off`. */
export function secondsOrOff(maxS: number): Format<number | 'off'> {
  const schema = { type: 'number', minimum: 0, maximum: maxS } as const;
  const some = number('', /^\d{1,9}(\.\d{1,3})?$/, schema);
  return format<number | 'off'>(
    `seconds from 0 to ${maxS}, or off`,
    (text): Reading<number | 'off'> | undefined => {
      if (text === 'off') return { ok: true, value: text };
      const reading = some.read(text);
      return reading.ok ? reading : undefined;
    },
    { schema: { type: 'string', enum: ['off'] }, numbers: schema },
  );
}

/** A share, from 0 (nothing) to 1 (everything). */
export const ratio: Format<number> = number('a number from 0 to 1', /^\d+(\.\d+)?(e-?\d+)?$/i, {
  type: 'number',
  minimum: 0,
  maximum: 1,
});

/**
 * Seconds between heartbeats. Celery converts them to a float (worker/consumer/connection.py), so `120.0` is accepted; `None`
 * switches heartbeats off.
 */
export function heartbeat(max: number): Format<number> {
  const whole = wholeNumber(0, max, 'seconds');
  const read = (text: string) =>
    whole.read(/^(?:none|null)$/iu.test(text) ? '0' : text.replace(/\.0+$/u, ''));
  return format(whole.expects, read, { schema: whole.schema, unit: whole.unit });
}

/** One word of a list; `anyCase` is for options in which OpenTelemetry ignores case. */
export function oneOf<const T extends string>(words: readonly T[], parts?: { anyCase: boolean }): Format<T> {
  const expects = `one of ${words.join(', ')}`;
  const read = (text: string): Reading<T> | undefined => {
    const wanted = parts?.anyCase === true ? text.toLowerCase() : text;
    const value = words.find((word) => word === wanted);
    if (value !== undefined) return { ok: true, value };
    return { ok: false, expected: expects + hint(text.toLowerCase(), words) };
  };
  return format(expects, read, { schema: { type: 'string', enum: words } });
}

const OWN_LEVELS = oneOf(LOG_LEVELS, { anyCase: true });

/** `true` or `false`; case is ignored, as in the OpenTelemetry specification. */
export const trueOrFalse: Format<boolean> = format(
  'true or false',
  (text) => {
    const word = text.toLowerCase();
    return word === 'true' || word === 'false' ? { ok: true, value: word === 'true' } : undefined;
  },
  { schema: { type: 'boolean' } },
);

/** A level of log lines, or a name that Python or OpenTelemetry uses for one. */
export const logLevel: Format<LogLevel> = format(
  `one of ${LOG_LEVELS.join(', ')}, or the names of Python`,
  (text) => {
    const other = OTHER_LEVELS.get(text.toLowerCase());
    return other === undefined ? OWN_LEVELS.read(text) : { ok: true, value: other };
  },
  { schema: { type: 'string' } },
);

/** Text on one line, at most `bytesMax` bytes in UTF-8. */
export function line(bytesMax: number): Format<string> {
  return format(
    `text on one line, at most ${bytesMax} bytes`,
    (text) =>
      Buffer.byteLength(text) <= bytesMax && !/\p{Cc}/u.test(text) ? { ok: true, value: text } : undefined,
    { schema: { type: 'string', maxLength: bytesMax } },
  );
}

/** A text that is never printed, not even in errors. */
export const secret: Format<string> = format('a string', (text) => ({ ok: true, value: text }), {
  isSecret: true,
  show: () => quote(MASK),
});

/** Whether a text has quotes around it. Container runtimes keep the quotes around values in files of variables. */
export function isQuoted(text: string): boolean {
  return /^(?:".*"|'.*')$/su.test(text);
}

/** The path of a file that need not exist. */
export const filePath: Format<string> = format('the path of a file', (path) =>
  path.includes('\0') ? undefined : { ok: true, value: path },
);

/** One or more broker addresses, `a;b`. */
export const brokerUrls: Format<BrokerUrls> = format(
  'a broker address, or several separated by ;',
  (text) => {
    if (isQuoted(text)) return { ok: false, expected: 'a broker address, without quotes around it' };
    const parsed = parseBrokerUrls(text);
    return parsed.ok
      ? { ok: true, value: parsed.urls }
      : { ok: false, expected: `a broker address (${parsed.reason})` };
  },
  { show: maskUrl, list: { separator: ';', items: { type: 'string' } } },
);

/** The items of a list, `a, b`, or of the same list in JSON; none if the text only looks like JSON. */
export function itemsOf(text: string): readonly string[] {
  if (/^\[.*\]$/su.test(text.trim())) return jsonItemsOf(text) ?? [];
  return text.split(',').map((item) => item.trim());
}

/** The items of a JSON list of strings and numbers, as programs write it into variables; undefined for any other text. */
export function jsonItemsOf(text: string): readonly string[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : [undefined];
  const read = items.flatMap((item) =>
    typeof item === 'string' || typeof item === 'number' ? [String(item).trim()] : [],
  );
  return read.length === items.length ? read : undefined;
}

/** Redis refuses a name with spaces (CLIENT SETNAME). */
export const clientName: Format<string> = format(
  'a name of 1 to 64 visible ASCII characters',
  (text) => (/^[\x21-\x7e]{1,64}$/.test(text) ? { ok: true, value: text } : undefined),
  { schema: { type: 'string', maxLength: 64 } },
);

/** A text, or a boolean: `false` reads as '', `true` as the default. */
export function switchOr(text: Format<string>, byDefault: string): Format<string> {
  const read = (given: string): Reading<string> => {
    const isOn = trueOrFalse.read(given);
    return isOn.ok ? { ok: true, value: isOn.value ? byDefault : '' } : text.read(given);
  };
  return format(`true, false, or ${text.expects}`, read, { ...text, orSwitch: true });
}
