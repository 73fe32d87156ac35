/**
 * The shapes of values in a configuration file: each reads a value, and reports its mistakes. Documents are generated
 * from the same shapes. This file names no key of a configuration.
 */
import type { Format } from '../format/formats.ts';
import { snakeCase } from './file-path.ts';
import type { FileValue } from './file-value.ts';

export interface Shape<out T> {
  /** For a map, its known keys. */
  readonly keys?: Shapes;
  /** For a list, the shape of each item. */
  readonly items?: Shape<unknown>;
  /** For a scalar, its format. */
  readonly format?: Format<unknown>;
  /** Why the key is not supported; undefined if it is supported. */
  readonly refused?: string;
  /** What the message about a missing key asks for; undefined if the key may be missing. */
  readonly required?: string;
  /** Whether an enclosing value has the same shape, so that documents do not describe it again. */
  readonly isWithin?: true;
  /** Whether a key without a value is read like others, instead of being treated as missing. */
  readonly mayBeNull?: true;
  /** Returns undefined if there is no value, or a mistake was reported. */
  read(value: FileValue): T | undefined;
}

export type Shapes = Readonly<Record<string, Shape<unknown>>>;

/** A value and its position. */
export interface Placed<T> {
  readonly place: FileValue;
  readonly value: T;
}

/** The type of the value that a shape reads. */
export type Read<S> = S extends Shape<infer T> ? T : never;

type Parts<T> = { [K in keyof T]?: T[K] | undefined };

interface MapParts {
  /** What messages call the keys. */
  readonly of?: string;
  /** Whether the map must have exactly one key. */
  readonly one?: true;
  /** Known keys that are read elsewhere. */
  readonly others?: readonly string[];
}

/** A string, number or boolean. A key without a value is missing, as in the standard. */
export function scalar<T>(format: Format<T>): Shape<T> {
  return { format, read: (value) => (value.isNull ? undefined : value.read(format)) };
}

/** A scalar whose key must have a value. */
export function present<T>(format: Format<T>): Shape<T> {
  return { format, read: (value) => value.read(format) };
}

/** A value of any kind, which is read elsewhere. */
export const any: Shape<FileValue> = { mayBeNull: true, read: (value) => value };

/** A map of known keys, which the code may write in camel or snake case. A key without a value is an empty map. */
export function map<T extends object>(
  keys: { readonly [K in keyof T]: Shape<T[K]> },
  { of = 'settings', one, others = [] }: MapParts = {},
): Shape<Parts<T>> {
  const named = Object.entries<Shape<unknown>>(keys).map(([key, shape]) => [snakeCase(key), shape] as const);
  const shapes = new Map(named);
  const known = [...shapes.keys(), ...others];
  const supported = known.filter((key) => shapes.get(key)?.refused === undefined);
  return {
    keys: Object.fromEntries(named),
    read(value) {
      if (!value.expect('map', of)) return undefined;
      if (one && value.entries().length !== 1) {
        value.complain(
          supported.length === 1 ? `only ${supported.join()}` : `exactly one of ${supported.join(', ')}`,
        );
      }
      for (const [key, entry] of value.entries()) {
        if (!known.includes(key)) entry.complainOfKey(known, supported);
      }
      const parts: Parts<T> = {};
      for (const key in keys) {
        const entry = value.get(snakeCase(key));
        const { required, mayBeNull = required === undefined } = keys[key];
        if (entry !== undefined && (mayBeNull || !entry.isNull)) parts[key] = keys[key].read(entry);
        else if (required !== undefined) value.complainOfMissing(snakeCase(key), required);
      }
      return parts;
    },
  };
}

/** A map of any keys. Entries for which `read` returns undefined are left out. */
export function mapOf<T>(
  of: string,
  read: (key: string, value: FileValue) => T | undefined,
): Shape<readonly T[]> {
  return {
    read(value) {
      if (!value.expect('map', of)) return undefined;
      const parts = value.entries().map(([key, entry]) => read(key, entry));
      return parts.filter((part) => part !== undefined);
    },
  };
}

/** @param only why there can be only one item; undefined if there can be several */
export function list<T>(items: Shape<T>, of = 'maps', only?: string): Shape<readonly T[]> {
  return {
    items,
    read(value) {
      if (value.isNull || !value.expect('list', of)) return undefined;
      const parts = value.items().map((item, index) => {
        if (only === undefined || index === 0) return items.read(item);
        return item.complain(only);
      });
      return parts.filter((part) => part !== undefined);
    },
  };
}

/** A key of the standard that is not supported. */
export function refused(reason: string): Shape<never> {
  return {
    refused: reason,
    read: (value) => value.complain(`no such key: ${reason}`),
  };
}

export function required<T>(shape: Shape<T>, what: string): Shape<T> {
  return { ...shape, required: what };
}

export function placed<T>(shape: Shape<T>): Shape<Placed<T>> {
  return into(shape, (value, place) => ({ place, value }));
}

/** A shape that contains itself. */
export function within<T>(shape: () => Shape<T>): Shape<T> {
  return { isWithin: true, read: (value) => shape().read(value) };
}

/** A shape whose value is converted. @param make returns undefined if it has reported a mistake */
export function into<T, R>(shape: Shape<T>, make: (value: T, place: FileValue) => R | undefined): Shape<R> {
  const read = (place: FileValue): R | undefined => {
    const value = shape.read(place);
    return value === undefined ? undefined : make(value, place);
  };
  return { ...shape, read };
}
