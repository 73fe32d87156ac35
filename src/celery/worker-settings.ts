/**
 * Reads what a worker’s reply to `conf` (Celery: worker/control.py) says about its other replies: whether JSON can encode `stats`, which
 * has the settings of its connection to the broker. Nothing else of the reply is kept. Pure.
 */
import { isJsonObject } from '../json-structure.ts';
import type { Read } from './control-reply.ts';

export interface WorkerSettings {
  /** A value that JSON may not encode; undefined if there is none. */
  readonly unencodable: string | undefined;
  /** Whether it has Celery 5.3 or a later one. */
  readonly isRecent: boolean;
}

/** Settings whose values are in `stats` (kombu: connection.py, `info`), below `broker`. */
const IN_STATS = [
  'broker_transport_options',
  'broker_use_ssl',
  'broker_failover_strategy',
  'broker_login_method',
  'broker_heartbeat',
  'broker_connection_timeout',
] as const;
/** Celery has it since 5.3. */
const RECENT = 'broker_channel_error_retry';
/**
 * What Python prints of an object (Celery: utils/saferepr.py), which stands there instead of a value that JSON does not have: a call, a
 * list in angle brackets, bytes, a set, a complex number or a tuple, a span of time.
 */
const PRINTED = [
  /^<.*>$/su,
  /^[A-Za-z_][\w.]*\(.*\)$/su,
  /^b["'].*["']$/su,
  /^\{(?:["'\d<-].*|.*[)"'>])\}$/su,
  /^\(.*\)$/su,
  /^(?:-?\d+ days?, )?\d+:\d\d:\d\d(?:\.\d+)?$/u,
];
/** Celery writes it in place of values whose keys contain KEY, PASS and the like (app/utils.py, `filter_hidden_settings`). */
const MASK = '********';
/** Of these, it hides what can only be a text. */
const HIDDEN_TEXTS = /(?:prefix|password|username)$/u;
/** Options are nested less deeply. */
const DEPTH_MAX = 10;

export const readSettings: Read<WorkerSettings> = (value) => {
  if (!isJsonObject(value)) return undefined;
  // All have defaults: one that is missing proves nothing.
  const found = IN_STATS.map((key) => (key in value ? unencodable(value[key], key, DEPTH_MAX) : key)).find(
    Boolean,
  );
  return { unencodable: found, isRecent: RECENT in value };
};

/** The path of the first value that JSON may not encode. */
function unencodable(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value === 'string') return PRINTED.some((form) => form.test(value)) ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === 0) return path;
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = Array.isArray(value) ? path : `${path}.${key}`;
    if (inner === MASK && !isHiddenText(key, value)) return innerPath;
    const found = unencodable(inner, innerPath, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The file of a key is written as that of its certificate is, which is not hidden. */
function isHiddenText(key: string, siblings: object): boolean {
  if (HIDDEN_TEXTS.test(key)) return true;
  const certificate = key.replace(/keyfile$/u, 'certfile');
  return certificate !== key && certificate in siblings;
}
