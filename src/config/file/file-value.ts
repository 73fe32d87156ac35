/**
 * One value of a configuration file, with its position: reads scalars, navigates maps and lists, and reports mistakes. It
 * knows no key by name.
 */

import type { Format } from '../format/formats.ts';
import { hint } from '../format/near-miss.ts';
import { quote } from '../format/redaction.ts';
import { CONFIG_FILE, type Mistake } from '../mistake.ts';
import type { ConfigFile } from './config-file.ts';
import { type FilePath, showPath } from './file-path.ts';

/** A message lists the known keys only if there are at most this many. */
const KEYS_SHOWN_MAX = 12;

type File = Pick<ConfigFile, 'whereIs' | 'unsetAt'>;

export class FileValue {
  readonly path: FilePath;
  readonly value: unknown;
  readonly #file: File;
  readonly #mistakes: Mistake[];

  /** @param mistakes collects the mistakes of this value and everything within */
  constructor(path: FilePath, value: unknown, file: File, mistakes: Mistake[]) {
    this.path = path;
    this.value = value;
    this.#file = file;
    this.#mistakes = mistakes;
  }

  /** Whether it has no value: a key alone, or an empty variable. */
  get isNull(): boolean {
    return this.value === null || this.value === undefined;
  }

  /** `otel.yaml:12`. */
  get source(): string {
    return this.#file.whereIs(this.path);
  }

  /** The source of a path within, whether it exists or not. */
  sourceOf(path: FilePath): string {
    return this.#file.whereIs([...this.path, ...path]);
  }

  /** The value of a key; undefined if there is none. */
  get(key: string): FileValue | undefined {
    const { value } = this;
    if (!isMap(value) || !Object.hasOwn(value, key)) return undefined;
    return this.#at(key, value[key]);
  }

  /** The value at a path of keys and indices. */
  find(path: FilePath): FileValue | undefined {
    const [step, ...rest] = path;
    if (step === undefined) return this;
    const part = typeof step === 'number' ? this.items()[step] : this.get(step);
    return part?.find(rest);
  }

  /** The entries of a map; empty for anything else. */
  entries(): readonly (readonly [key: string, value: FileValue])[] {
    return isMap(this.value)
      ? Object.entries(this.value).map(([key, value]) => [key, this.#at(key, value)] as const)
      : [];
  }

  /** The items of a list; empty for anything else. */
  items(): readonly FileValue[] {
    const { value } = this;
    return Array.isArray(value) ? value.map((item: unknown, index) => this.#at(index, item)) : [];
  }

  /** Whether it is a map or empty; reports anything else. */
  expectMap(of: string): boolean {
    if (this.isNull || isMap(this.value)) return true;
    this.complain(`a map of ${of}`);
    return false;
  }

  /** Whether it is a list; reports anything else. */
  expectList(of: string): boolean {
    if (Array.isArray(this.value)) return true;
    this.complain(`a list of ${of}`);
    return false;
  }

  /** Reports unknown keys. */
  expectKeys(known: readonly string[]): void {
    for (const [key, value] of this.entries()) if (!known.includes(key)) value.complainOfKey(known);
  }

  /** Reports this value's key as unknown. @param shownKeys the keys to list */
  complainOfKey(known: readonly string[], shownKeys = known): void {
    const meant = hint(String(this.path.at(-1)), known);
    const shown =
      shownKeys.length <= KEYS_SHOWN_MAX ? ` (known keys: ${shownKeys.join(', ') || 'none'})` : '';
    this.complain(`a known key${meant || shown}`);
  }

  /** The text of a scalar of the format's type; reports anything else. */
  text(format: Format<unknown>): string | undefined {
    const text = this.plain(format);
    if (text !== undefined) return text;
    const quotes = format.schema.type === 'string' && typeof this.value !== 'string' ? ', in quotes' : '';
    this.complain(format.expects + (isScalar(this.value) ? quotes : ''), shown(this.value, format));
    return undefined;
  }

  /** The value of a scalar; reports one that the format rejects. */
  read<T>(format: Format<T>): T | undefined {
    const text = this.text(format);
    if (text === undefined) return undefined;
    const reading = format.read(text);
    if (reading.ok) return reading.value;
    this.complain(reading.expected, format.show(text));
    return undefined;
  }

  /** Like `read`, but reports nothing: the value was checked before. */
  peek<T>(format: Format<T>): T | undefined {
    const text = this.plain(format);
    const reading = text === undefined ? undefined : format.read(text);
    return reading?.ok === true ? reading.value : undefined;
  }

  /** Like `text`, but reports nothing. */
  plain(format: Format<unknown>): string | undefined {
    return textOf(this.value, format) || undefined;
  }

  /** Reports a mistake. @param value safe to print */
  complain(expected: string, value?: string): void {
    const unset = this.#file.unsetAt(this.path);
    const hint = unset.length === 0 ? '' : ` (not set in the environment: ${unset.join(', ')})`;
    this.#mistakes.push({
      path: showPath(this.path) || CONFIG_FILE,
      source: this.source,
      value,
      expected: expected + hint,
    });
  }

  /** Reports variables without value or default, here and within, unless a mistake already mentions them. */
  expectVariables(): void {
    const path = showPath(this.path);
    const unset = this.#file.unsetAt(this.path);
    if (unset.length > 0 && !this.#mistakes.some((mistake) => mistake.path === path)) {
      this.complain(
        `a value or a default for each variable: ${unset.map((name) => `\${${name}:-default}`).join(', ')}`,
      );
    }
    for (const [, value] of this.entries()) value.expectVariables();
    for (const item of this.items()) item.expectVariables();
  }

  /** Reports a missing key. */
  complainOfMissing(key: string, expected: string): void {
    const path = showPath([...this.path, key]);
    this.#mistakes.push({ path, source: this.source, value: undefined, expected: `a value: ${expected}` });
  }

  #at(step: string | number, value: unknown): FileValue {
    return new FileValue([...this.path, step], value, this.#file, this.#mistakes);
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** A string may stand for any type; numbers and booleans must match the format's type. */
function textOf(value: unknown, { schema: { type } }: Format<unknown>): string | undefined {
  switch (typeof value) {
    case 'string':
      return value.trim();
    case 'number':
      return type === 'number' || type === 'integer' ? String(value) : undefined;
    case 'boolean':
      return type === 'boolean' ? String(value) : undefined;
    default:
      return undefined;
  }
}

function shown(value: unknown, format: Format<unknown>): string | undefined {
  if (!isScalar(value)) return undefined;
  return typeof value === 'string' ? quote(value) : format.show(String(value));
}
