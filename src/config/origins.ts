/**
 * Keeps the origin of each configuration value, by the path that the value has in a configuration file, even if there
 * is no file. It does not keep the values.
 */
import { type FilePath, parsePath, showPath } from './file/file-path.ts';
import type { FileValue } from './file/file-value.ts';
import type { Options } from './option-rules.ts';
import { fileOf, type KeyedRow, type OptionScope } from './options.ts';

/** The origin of unset values. */
export const DEFAULT = 'default';

export class Origins {
  readonly #noted = new Map<string, string>();
  readonly #file: FileValue | undefined;

  /** @param file the root of the file, if there is one */
  constructor(file?: FileValue) {
    this.#file = file;
  }

  /** Sets the origin of a path and of all paths within it; does nothing if the source is undefined. */
  note(path: FilePath, source: string | undefined): void {
    if (source !== undefined) this.#noted.set(showPath(path), source);
  }

  /** The origin of the value at this path: a flag, variables, `otel.yaml:12` or `default`. */
  of(path: FilePath): string {
    const noted = this.#noted.get(showPath(path));
    if (noted !== undefined) return noted;
    const value = this.#file?.find(path);
    if (value !== undefined && !value.isNull) return value.source;
    for (let length = path.length - 1; length > 0; length -= 1) {
      const above = this.#noted.get(showPath(path.slice(0, length)));
      if (above !== undefined) return above;
    }
    return DEFAULT;
  }
}

/** The scopes of options that have a single path, and do not belong to a service. */
const NOTED: readonly OptionScope[] = ['process', 'export', 'signal'];

/** Notes the origins of options that do not belong to a service. */
export function noteOrigins(options: Options, rows: readonly KeyedRow[], origins: Origins): void {
  const isExported = rows.some(([, { scope }]) => scope === 'export');
  const isHttp = isExported && options.need('otlp_protocol') !== 'grpc';
  const exporter = isHttp ? 'otlp_http' : 'otlp_grpc';
  for (const [key, { scope }] of rows) {
    const path = parsePath(fileOf(key, exporter, options.signal) ?? key);
    // In a file the protocol is the key of the exporter; only the encoding over HTTP is a value.
    const at = key === 'otlp_protocol' ? [...path, exporter, 'encoding'] : path;
    if (NOTED.includes(scope)) origins.note(at, options.source(key));
  }
}
