/** The table of the fields that are read of an event, which are as they arrived: any of them may be of any type. */

import { isJsonObject } from './fields.ts';

/** Their names on the wire, and their places in {@link RawFields}. */
export const FIELD = {
  type: 0,
  hostname: 1,
  timestamp: 2,
  pid: 3,
  clock: 4,
  uuid: 5,
  name: 6,
  queue: 7,
  routing_key: 8,
  eta: 9,
  expires: 10,
  retries: 11,
  root_id: 12,
  parent_id: 13,
  runtime: 14,
  exception: 15,
  traceback: 16,
  requeue: 17,
  terminated: 18,
  expired: 19,
  active: 20,
  processed: 21,
  loadavg: 22,
  sw_ver: 23,
  sw_sys: 24,
} as const;

export const FIELD_NAMES: readonly string[] = Object.keys(FIELD);

/** By {@link FIELD}; undefined if missing. */
export type RawFields = readonly unknown[];

/** An event whose fields were read without the others. A class, to be told from parsed JSON. */
export class RawEvent {
  readonly fields: RawFields;

  constructor(fields: RawFields) {
    this.fields = fields;
  }
}

/** The fields of an event; undefined if the value is none. */
export function rawFields(value: unknown): RawFields | undefined {
  if (value instanceof RawEvent) return value.fields;
  return isJsonObject(value) ? FIELD_NAMES.map((name) => value[name]) : undefined;
}
