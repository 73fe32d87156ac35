/**
 * Fills the settings of the rooms from the rows of the options, and finds the values of rows in settings. It knows no option
 * by name, and checks nothing.
 */
import type { Format } from './format/formats.ts';
import type { Options } from './option-rules.ts';
import {
  type Described,
  type KeyedRow,
  type OptionKey,
  optionRows,
  type Rows,
  type ValueOf,
} from './options.ts';

/** The last step of a path, if the others are those of the group. */
type NameIn<G extends string, S> = S extends `${G extends '' ? '' : `${G}.`}${infer Name}`
  ? Name extends `${string}.${string}`
    ? never
    : Name
  : never;

/** An option without a default may be unset. */
type SettingValue<R> =
  | ValueOf<R>
  | (R extends { readonly default: string } ? never : R extends { readonly unset: infer U } ? U : undefined);

/** What the rows of one signal have in common. */
type RowPart = Pick<Described, 'signal' | 'also'>;

type Settings<G extends string, Of> = {
  readonly [K in OptionKey as Rows[K] extends Of & { readonly setting: infer S }
    ? NameIn<G, S>
    : never]: SettingValue<Rows[K]>;
};

/**
 * The settings of a group, such as `broker.amqp`, with the values of their options: those whose path has just one more step. The
 * group '' is the service itself. No compiler follows a key from row to row, so the first line, which derives from the rows
 * as well, is taken on trust.
 * @param of what the rows have in common besides
 */
export function settingsOf<G extends string, Of extends RowPart = RowPart>(
  options: Options,
  group: G,
  of?: Of,
): Settings<G, Of>;
export function settingsOf({ value, need }: Options, group: string, { signal, also }: RowPart = {}): object {
  const start = group === '' ? '' : `${group}.`;
  const parts = optionRows().flatMap(([key, row]) => {
    const { setting = '', format } = row;
    const name = setting.startsWith(start) ? setting.slice(start.length) : '';
    const isMeant = (signal ?? row.signal) === row.signal && (also ?? row.also) === row.also;
    if (!isMeant || name === '' || name.includes('.')) return [];
    const found = row.default === undefined ? (value(key) ?? row.unset) : need(key);
    const scale = scaleOf(setting, format);
    return [[name, typeof found === 'number' && scale !== 1 ? Math.round(found * scale) : found] as const];
  });
  return Object.fromEntries(parts);
}

/** One value of the configuration that an option has set. */
export type SetValue = ReturnType<typeof settingsIn>[number];

/** @param holder the configuration of a service or of the export of a signal */
export function settingsIn(holder: object, rows: readonly KeyedRow[]) {
  return rows.flatMap(([key, { setting: path, format }]) => {
    if (path === undefined) return [];
    let value: unknown = holder;
    for (const step of path.split('.'))
      value = value instanceof Object ? Reflect.get(value, step) : undefined;
    return [{ key, format, path, value, scale: scaleOf(path, format) }];
  });
}

/** How many units of a setting one unit of its option has. */
function scaleOf(path: string, { unit }: Format<unknown>): number {
  return unit === 'seconds' && path.endsWith('Ms') ? 1000 : 1;
}
