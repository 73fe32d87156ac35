/**
 * One value of a configuration file, with its position: reads scalars, navigates maps and lists, and reports mistakes. It
 * knows no key by name.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { hint } from '../../text/suggestion.ts';
import { type Format, isWithin } from '../format/formats.ts';
import { MASK } from '../format/redaction.ts';
import { CONFIG_FILE, type Mistake } from '../mistake.ts';
import { type FilePath, showPath } from './file-path.ts';
import { keyText } from './yaml-document.ts';

/** A message lists the known keys only if there are at most this many. */
const KEYS_SHOWN_MAX = 12;

/**
 * How many keys one map may have, since the time of OpenTelemetry’s parser grows with the square. No process can serve
 * that many services.
 */
const KEYS_MAX = 2000;

/** Keys that may be printed; any other key may be a misplaced secret. */
const PLAIN_KEY = /^[\w./*-]{1,64}$/u;

/** The file that contains the value. */
interface File {
  readonly document: Document;
  /** By scalar: its variables that have no value and no default. */
  readonly unset: ReadonlyMap<Scalar, readonly string[]>;
  /** Collects the mistakes of all values. */
  readonly mistakes: Mistake[];
  readonly name: string;
  lineOf(node: unknown): number;
}

export class FileValue {
  readonly path: FilePath;
  readonly #file: File;
  readonly #node: unknown;
  readonly #start: unknown;
  #entries: ReturnType<FileValue['entries']> | undefined;
  #byKey: ReadonlyMap<string, FileValue> | undefined;
  #items: readonly FileValue[] | undefined;

  /**
   * @param node the node of the value; undefined or null if there is no value
   * @param start the node whose line is reported: for an entry of a map, its key
   */
  constructor(file: File, path: FilePath = [], node: unknown = file.document.contents, start = node) {
    this.path = path;
    this.#file = file;
    this.#node = isAlias(node) ? node.resolve(file.document) : node;
    this.#start = start;
  }

  /** A scalar, or a list of scalars; a map is returned as its node. */
  get value(): unknown {
    if (isScalar(this.#node)) return this.#node.value;
    return isSeq(this.#node) ? this.items().map(({ value }) => value) : this.#node;
  }

  /** Whether there is no value: only a key, or an empty variable. */
  get isNull(): boolean {
    return this.value === null || this.value === undefined;
  }

  get line(): number {
    return this.#file.lineOf(this.#start);
  }

  /** For example `otel.yaml:12`; for a map in an environment variable, the name of the variable. */
  get source(): string {
    if (this.line === 0) return this.#file.name;
    return `${this.#file.name}:${this.line}`;
  }

  /** The value of a key; undefined if the key is missing. */
  get(key: string): FileValue | undefined {
    // If a key occurs twice, the first one counts.
    this.#byKey ??= new Map(this.entries().toReversed());
    return this.#byKey.get(key);
  }

  /** The value at a path of keys and indices. */
  find([step, ...rest]: FilePath): FileValue | undefined {
    if (step === undefined) return this;
    const part = typeof step === 'number' ? this.items()[step] : this.get(step);
    return part?.find(rest);
  }

  /** The value at a path, or the deepest one on the way to it. */
  nearest([step, ...rest]: FilePath): FileValue {
    const part = step === undefined ? undefined : this.find([step]);
    return part?.nearest(rest) ?? this;
  }

  /** The entries of a map; empty for anything else. */
  entries(): readonly (readonly [key: string, value: FileValue])[] {
    this.#entries ??= this.#readEntries();
    return this.#entries;
  }

  #readEntries(): ReturnType<FileValue['entries']> {
    const file = this.#file;
    if (!isMap(this.#node)) return [];
    return this.#node.items.map(({ key, value }) => {
      const name = keyText(file.document, key) ?? '';
      return [name, new FileValue(file, [...this.path, name], value ?? null, key)] as const;
    });
  }

  /** The items of a list; empty for anything else. */
  items(): readonly FileValue[] {
    if (!isSeq(this.#node)) return [];
    this.#items ??= this.#node.items.map(
      (item, index) => new FileValue(this.#file, [...this.path, index], item),
    );
    return this.#items;
  }

  /** Whether the value is of this kind, or missing; reports a value of another kind. */
  expect(kind: 'map' | 'list', of: string): boolean {
    if (this.isNull || (kind === 'map' ? isMap(this.#node) : isSeq(this.#node))) return true;
    this.complain(`a ${kind} of ${of}`);
    return false;
  }

  /** Reports this value's key as unknown. @param shownKeys the keys to list */
  complainOfKey(known: readonly string[], shownKeys: readonly string[]): void {
    const key = String(this.path.at(-1));
    const meant = hint(key, known);
    const shown =
      shownKeys.length <= KEYS_SHOWN_MAX ? ` (known keys: ${shownKeys.join(', ') || 'none'})` : '';
    this.complainAtKey(`a known key${meant || shown}`);
  }

  /** Reports a mistake in the key, not in the value. */
  complainAtKey(expected: string): void {
    const isPlain = PLAIN_KEY.test(String(this.path.at(-1)));
    this.complain(expected, undefined, isPlain ? this.path : [...this.path.slice(0, -1), MASK]);
  }

  /** The text of a scalar that has the type of the format; reports a value of another type. */
  text(format: Format<unknown>): string | undefined {
    const text = this.plain(format);
    if (text !== undefined) return text;
    const quotes = format.schema.type === 'string' && typeof this.value !== 'string' ? ', in quotes' : '';
    if (this.isNull || !isScalar(this.#node)) return this.complain(format.expects);
    return this.complain(format.expects + quotes, format.show(String(this.value)));
  }

  /** The value of a scalar; reports a text that the format rejects. */
  read<T>(format: Format<T>): T | undefined {
    const text = this.text(format);
    if (text === undefined) return undefined;
    const reading = format.read(text);
    if (reading.ok) return reading.value;
    return this.complain(reading.expected, format.show(text));
  }

  /** Like `text`, but reports nothing. */
  plain(format: Format<unknown>): string | undefined {
    const { value } = this;
    const { type } = format.schema;
    // A string may stand for any type.
    const fits =
      typeof value === 'string' ||
      typeof value === (type === 'integer' ? 'number' : type) ||
      (format.orSwitch === true && typeof value === 'boolean') ||
      (typeof value === 'number' && format.numbers !== undefined && isWithin(format.numbers, value));
    return fits ? String(value).trim() || undefined : undefined;
  }

  /** Reports a mistake. @param value safe to print */
  complain(expected: string, value?: string, at = this.path): undefined {
    const unset = this.#unset;
    const hint = unset.length === 0 ? '' : ` (not set in the environment: ${unset.join(', ')})`;
    this.#file.mistakes.push({
      path: showPath(at) || CONFIG_FILE,
      source: this.source,
      value,
      expected: expected + hint,
    });
  }

  /** Reports duplicate keys, and maps with too many keys, in this value and within. */
  expectUniqueKeys(): void {
    if (this.entries().length > KEYS_MAX) {
      this.complain(`a map of at most ${KEYS_MAX} keys`);
      return;
    }
    const first = new Map<string, FileValue>();
    for (const [key, value] of this.entries()) {
      const other = first.get(key);
      if (other === undefined) first.set(key, value);
      else value.complainAtKey(`each key only once (it is also on line ${other.line})`);
    }
    for (const part of this.#parts) part.expectUniqueKeys();
  }

  /** Reports variables without value and default, in this value and within, unless a mistake already mentions them. */
  expectVariables(): void {
    const path = showPath(this.path);
    const unset = this.#unset;
    if (unset.length > 0 && !this.#file.mistakes.some((mistake) => mistake.path === path)) {
      this.complain(
        `a value or a default for each variable: ${unset.map((name) => `\${${name}:-default}`).join(', ')}`,
      );
    }
    for (const part of this.#parts) part.expectVariables();
  }

  /** Reports a missing key. */
  complainOfMissing(key: string, expected: string): void {
    const path = showPath([...this.path, key]);
    this.#file.mistakes.push({ path, source: this.source, expected: `a value: ${expected}` });
  }

  get #parts(): readonly FileValue[] {
    return [...this.items(), ...this.entries().map(([, value]) => value)];
  }

  get #unset(): readonly string[] {
    return (isScalar(this.#node) ? this.#file.unset.get(this.#node) : undefined) ?? [];
  }
}
