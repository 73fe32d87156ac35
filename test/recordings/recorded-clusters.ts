/**
 * The table of recordings: one row per file, with its cluster and the scenarios of `drive.py`. It starts nothing.
 */
import type { CeleryFlavour, CeleryPool } from '../real/celery.ts';

export interface RecordedCluster {
  readonly celery: CeleryFlavour['name'];
  readonly pool: CeleryPool;
  /** Methods of the story in `drive.py`. */
  readonly scenarios: readonly string[];
  /** Nodename → the queues it consumes; default: one worker, both queues. */
  readonly workers?: Readonly<Record<string, readonly string[]>>;
  /** Slots of each worker; default 4. */
  readonly concurrency?: number;
  /** More arguments of `celery worker`. */
  readonly args?: readonly string[];
  /** Whether clients send `task-sent`; default true. */
  readonly sentEvents?: boolean;
  /** Quorum queues, and with them native delayed delivery. */
  readonly quorum?: boolean;
  /** Celery itself loses events here, when several threads add to one batch. */
  readonly lossy?: boolean;
}

const BOTH = ['work', 'slow'];
const TWO_WORKERS = { 'w1@shop-a': BOTH, 'w2@shop-b': BOTH };
const ANY_POOL = ['plain', 'workflows', 'replacements', 'no_result', 'retries', 'expire', 'revoke_waiting'];

export const RECORDED_CLUSTERS: Readonly<Record<string, RecordedCluster>> = {
  'newest-prefork': {
    celery: 'newest',
    pool: 'prefork',
    scenarios: [...ANY_POOL, 'reject_too_late'],
  },
  'newest-prefork-violence': {
    celery: 'newest',
    pool: 'prefork',
    scenarios: ['limits', 'deaths', 'terminate', 'plain'],
  },
  'newest-prefork-unsent': {
    celery: 'newest',
    pool: 'prefork',
    scenarios: ANY_POOL,
    workers: TWO_WORKERS,
    concurrency: 2,
    sentEvents: false,
  },
  'newest-prefork-autoscale': {
    celery: 'newest',
    pool: 'prefork',
    scenarios: ['naps', 'plain'],
    args: ['--autoscale', '4,1'],
  },
  'newest-prefork-killed': {
    celery: 'newest',
    pool: 'prefork',
    scenarios: ['plain', 'kill_worker'],
    workers: { 'w1@shop-a': BOTH, 'w2@shop-b': ['work'] },
  },
  'newest-prefork-delayed': {
    celery: 'newest',
    pool: 'prefork',
    scenarios: ['delays'],
    quorum: true,
  },
  'newest-threads': {
    celery: 'newest',
    pool: 'threads',
    scenarios: [...ANY_POOL, 'reject_too_late'],
  },
  'newest-solo': {
    celery: 'newest',
    pool: 'solo',
    scenarios: [...ANY_POOL, 'reject_too_late'],
  },
  'newest-gevent': {
    celery: 'newest',
    pool: 'gevent',
    scenarios: [...ANY_POOL, 'reject_too_late', 'hard_limit'],
  },
  'newest-eventlet': {
    celery: 'newest',
    pool: 'eventlet',
    scenarios: [...ANY_POOL, 'reject_too_late'],
  },
  'debian-prefork': {
    celery: 'debian',
    pool: 'prefork',
    scenarios: ANY_POOL,
    workers: TWO_WORKERS,
    concurrency: 2,
  },
  'debian-prefork-violence': {
    celery: 'debian',
    pool: 'prefork',
    scenarios: ['limits', 'deaths', 'terminate', 'plain'],
  },
  'debian-prefork-killed': {
    celery: 'debian',
    pool: 'prefork',
    scenarios: ['plain', 'kill_worker'],
    workers: { 'w1@shop-a': BOTH, 'w2@shop-b': ['work'] },
  },
  'debian-threads': {
    celery: 'debian',
    pool: 'threads',
    scenarios: ANY_POOL,
    lossy: true,
  },
  'debian-solo': {
    celery: 'debian',
    pool: 'solo',
    scenarios: ANY_POOL,
    sentEvents: false,
  },
};

/** The workers of a row, with their queues. */
export function workersOf(row: RecordedCluster): Readonly<Record<string, readonly string[]>> {
  return row.workers ?? { 'w1@shop-a': BOTH };
}
