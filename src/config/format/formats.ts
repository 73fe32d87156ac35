/**
 * What the text of an option may look like, strictly: a text is read whole or refused with what was expected. Lists,
 * addresses and files for TLS have files of their own; this one knows no option by name.
 */
import { type BrokerUrls, parseBrokerUrls } from '../../broker/broker-url.ts';
import { hint } from './near-miss.ts';
import { maskUrl, quote } from './redaction.ts';

/** What became of a text: its value, or what stands after the word "expected". */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly expected: string };

/** What a value is in a configuration file, in the words of JSON Schema. */
export type ScalarSchema =
  | { readonly type: 'boolean' }
  | { readonly type: 'integer'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'number'; readonly exclusiveMinimum?: number; readonly maximum?: number }
  | { readonly type: 'string'; readonly enum?: readonly string[]; readonly maxLength?: number };

type Unit = 'seconds' | 'milliseconds' | 'bytes';

export interface Format<T> {
  /** What it takes, in a few words, for the documents. */
  readonly expects: string;
  readonly schema: ScalarSchema;
  /** Of a number, where it has one: it is named in `expects`, and stands in no text. */
  readonly unit?: Unit;
  /** True where its flag may stand alone and then means `true`. */
  readonly flagAlone: boolean;
  /** Reads a text that is trimmed and not empty. */
  read(text: string): Reading<T>;
  /** The text as it may be printed when it is no secret. */
  show(text: string): string;
}

/** A format from its parts; `expects` is also the complaint where `read` has no closer one. */
export function format<T>(
  expects: string,
  read: (text: string) => Reading<T> | undefined,
  parts?: { flagAlone?: boolean; show?: (text: string) => string; schema?: ScalarSchema; unit?: Unit },
): Format<T> {
  return {
    expects,
    schema: parts?.schema ?? { type: 'string' },
    flagAlone: parts?.flagAlone ?? false,
    read: (text) => read(text) ?? { ok: false, expected: expects },
    show: parts?.show ?? quote,
    ...(parts?.unit === undefined ? {} : { unit: parts.unit }),
  };
}

/** A whole number from `min` to `max`; no exponent or fraction, and no sign but a minus. */
export function wholeNumber(min: number, max: number, unit?: Unit): Format<number> {
  return format(
    `${unit === undefined ? '' : `${unit}, `}a whole number from ${min} to ${max}`,
    (text) => {
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? { ok: true, value } : undefined;
    },
    { schema: { type: 'integer', minimum: min, maximum: max }, ...(unit === undefined ? {} : { unit }) },
  );
}

/** Any number that is finite. */
export const finiteNumber: Format<number> = format(
  'a finite number',
  (text) => {
    const value = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    return Number.isFinite(value) ? { ok: true, value } : undefined;
  },
  { schema: { type: 'number' } },
);

/** Seconds, more than 0 and at most `maxS`, with up to three decimals: nothing here is finer than a millisecond. */
export function seconds(maxS: number): Format<number> {
  return format(
    `seconds, more than 0 and at most ${maxS}`,
    (text) => {
      const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
      return value > 0 && value <= maxS ? { ok: true, value } : undefined;
    },
    { schema: { type: 'number', exclusiveMinimum: 0, maximum: maxS }, unit: 'seconds' },
  );
}

/** One word of a closed list; in any case where the specification of the option says so. */
export function oneOf<const T extends string>(words: readonly T[], parts?: { anyCase: boolean }): Format<T> {
  const expects = words.length === 1 ? words.join() : `one of ${words.join(', ')}`;
  const read = (text: string): Reading<T> | undefined => {
    const wanted = parts?.anyCase === true ? text.toLowerCase() : text;
    const value = words.find((word) => word === wanted);
    if (value !== undefined) return { ok: true, value };
    return { ok: false, expected: expects + hint(text.toLowerCase(), words) };
  };
  return format(expects, read, { schema: { type: 'string', enum: words } });
}

/** `true` or `false`, in any case, as the OpenTelemetry specification reads its switches. */
export const trueOrFalse: Format<boolean> = format(
  'true or false',
  (text) => {
    const word = text.toLowerCase();
    return word === 'true' || word === 'false' ? { ok: true, value: word === 'true' } : undefined;
  },
  { flagAlone: true, schema: { type: 'boolean' } },
);

/** Any text on one line, of at most `bytesMax` bytes in UTF-8. */
export function line(bytesMax: number): Format<string> {
  return format(
    `text on one line, of at most ${bytesMax} bytes`,
    (text) =>
      Buffer.byteLength(text) <= bytesMax && !/\p{Cc}/u.test(text) ? { ok: true, value: text } : undefined,
    { schema: { type: 'string', maxLength: bytesMax } },
  );
}

/** The path of a file that need not be there. */
export const filePath: Format<string> = format('the path of a file', (path) =>
  path.includes('\0') ? undefined : { ok: true, value: path },
);

/** A broker's address or several, `a;b`. */
export const brokerUrls: Format<BrokerUrls> = format(
  'the address of a broker, or several with ; between them',
  (text) => {
    const parsed = parseBrokerUrls(text);
    return parsed.ok
      ? { ok: true, value: parsed.urls }
      : { ok: false, expected: `the address of a broker (${parsed.reason})` };
  },
  { show: maskUrl },
);
