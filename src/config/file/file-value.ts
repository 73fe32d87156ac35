/**
 * One value of a configuration file and where it is: reads scalars by the formats of options, goes into maps and lists,
 * and takes note of what is wrong. It knows no key by name.
 */

import type { Format } from '../format/formats.ts';
import { hint } from '../format/near-miss.ts';
import { quote } from '../format/redaction.ts';
import { CONFIG_FILE, type Mistake } from '../mistake.ts';
import type { ConfigFile } from './config-file.ts';
import { type FilePath, showPath } from './file-path.ts';

/** Beyond that many, what was meant is looked up rather than read in a message. */
const KEYS_SHOWN_MAX = 12;

type File = Pick<ConfigFile, 'whereIs' | 'unsetAt'>;

export class FileValue {
  readonly path: FilePath;
  readonly value: unknown;
  readonly #file: File;
  readonly #mistakes: Mistake[];

  /** @param mistakes where mistakes are added, also those of all that is within */
  constructor(path: FilePath, value: unknown, file: File, mistakes: Mistake[]) {
    this.path = path;
    this.value = value;
    this.#file = file;
    this.#mistakes = mistakes;
  }

  /** Whether it says nothing: a key without a value, or with a variable that is empty. */
  get isNull(): boolean {
    return this.value === null || this.value === undefined;
  }

  /** `otel.yaml:12`. */
  get source(): string {
    return this.#file.whereIs(this.path);
  }

  /** The same of what is, or would be, at a path within. */
  sourceOf(path: FilePath): string {
    return this.#file.whereIs([...this.path, ...path]);
  }

  /** What is within it under a key; undefined where there is none. */
  get(key: string): FileValue | undefined {
    const { value } = this;
    if (!isMap(value) || !Object.hasOwn(value, key)) return undefined;
    return this.#at(key, value[key]);
  }

  /** What is at the end of a path of keys and indices. */
  find(path: FilePath): FileValue | undefined {
    const [step, ...rest] = path;
    if (step === undefined) return this;
    const part = typeof step === 'number' ? this.items()[step] : this.get(step);
    return part?.find(rest);
  }

  /** The entries of a map; of anything else none. */
  entries(): readonly (readonly [key: string, value: FileValue])[] {
    return isMap(this.value)
      ? Object.entries(this.value).map(([key, value]) => [key, this.#at(key, value)] as const)
      : [];
  }

  /** The items of a list; of anything else none. */
  items(): readonly FileValue[] {
    const { value } = this;
    return Array.isArray(value) ? value.map((item: unknown, index) => this.#at(index, item)) : [];
  }

  /** Whether it is a map, which may be empty; takes note if not. */
  expectMap(of: string): boolean {
    if (this.isNull || isMap(this.value)) return true;
    this.complain(`a map of ${of}`);
    return false;
  }

  /** Whether it is a list; takes note if not. */
  expectList(of: string): boolean {
    if (Array.isArray(this.value)) return true;
    this.complain(`a list of ${of}`);
    return false;
  }

  /** Takes note of keys that are not known. */
  expectKeys(known: readonly string[]): void {
    for (const [key, value] of this.entries()) if (!known.includes(key)) value.complainOfKey(known);
  }

  /** @param shownKeys those that are worth telling of */
  complainOfKey(known: readonly string[], shownKeys = known): void {
    const meant = hint(String(this.path.at(-1)), known);
    const shown = shownKeys.length <= KEYS_SHOWN_MAX ? ` (known are ${shownKeys.join(', ') || 'none'})` : '';
    this.complain(`a key that is known here${meant || shown}`);
  }

  /** The text of a scalar whose type is that of the format; takes note of any other. */
  text(format: Format<unknown>): string | undefined {
    const text = this.plain(format);
    if (text !== undefined) return text;
    const quotes = format.schema.type === 'string' && typeof this.value !== 'string' ? ', in quotes' : '';
    this.complain(format.expects + (isScalar(this.value) ? quotes : ''), shown(this.value, format));
    return undefined;
  }

  /** The value of a scalar; takes note where it is none of the format's. */
  read<T>(format: Format<T>): T | undefined {
    const text = this.text(format);
    if (text === undefined) return undefined;
    const reading = format.read(text);
    if (reading.ok) return reading.value;
    this.complain(reading.expected, format.show(text));
    return undefined;
  }

  /** As `read`, of what was checked before: takes note of nothing. */
  peek<T>(format: Format<T>): T | undefined {
    const text = this.plain(format);
    const reading = text === undefined ? undefined : format.read(text);
    return reading?.ok === true ? reading.value : undefined;
  }

  /** The text of a scalar whose type is that of the format; takes note of nothing. */
  plain(format: Format<unknown>): string | undefined {
    return textOf(this.value, format) || undefined;
  }

  /** Takes note of a mistake. @param value as it may be printed, where it may be */
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

  /** Takes note of variables without value and default, here and in all that is within, unless a mistake tells of them. */
  expectVariables(): void {
    const path = showPath(this.path);
    const unset = this.#file.unsetAt(this.path);
    if (unset.length > 0 && !this.#mistakes.some((mistake) => mistake.path === path)) {
      this.complain(
        `a value for each variable, or a default: ${unset.map((name) => `\${${name}:-default}`).join(', ')}`,
      );
    }
    for (const [, value] of this.entries()) value.expectVariables();
    for (const item of this.items()) item.expectVariables();
  }

  /** Takes note of something that is missing in it. */
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

/** A text is read as anything; a number and a boolean are what they are. */
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
