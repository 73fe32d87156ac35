/** Celery’s own names of keys. */
import type { RedisKeys } from '../../src/broker/broker-reading.ts';

export const POLL_KEYS = {
  separator: '\u0006\u0016',
  prioritySteps: [0, 3, 6, 9],
  unackedKey: 'unacked',
  unackedIndexKey: 'unacked_index',
  visibilityTimeoutMs: 3_600_000,
} as const satisfies RedisKeys;

/** All but the queues. */
export const QUESTION = { unackedByQueue: false, redis: POLL_KEYS, namespace: 'celery' } as const;
