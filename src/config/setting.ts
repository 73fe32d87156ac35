/** The values that options have set in a configuration, found by the column `setting`. */
import type { Format } from './format/formats.ts';
import { type KeyedRow, type OptionKey, optionRows } from './options.ts';

export interface Setting {
  readonly key: OptionKey;
  readonly format: Format<unknown>;
  /** `cluster.workerTimeoutMs`. */
  readonly path: string;
  readonly value: unknown;
  /** Units of the value per unit of the option. */
  readonly scale: number;
}

export const EXPORT_ROWS: readonly KeyedRow[] = optionRows('run').filter(
  ([, { scope }]) => scope === 'export',
);

/** @param holder the configuration of a service or of the export */
export function settingsIn(holder: object, rows: readonly KeyedRow[]): readonly Setting[] {
  return rows.flatMap(([key, { setting: path, format }]) => {
    if (path === undefined) return [];
    const value = path
      .split('.')
      .reduce<unknown>(
        (at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined),
        holder,
      );
    const scale = format.unit === 'seconds' && path.endsWith('Ms') ? 1000 : 1;
    return [{ key, format, path, value, scale }];
  });
}
