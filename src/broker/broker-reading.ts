/** What is asked of a broker about its queues, and what it knows at one moment. Types only. */

import type { Fates } from './control/control.ts';

/** What to poll, and how often. */
export interface PollSettings {
  readonly intervalMs: number;
  /** After each connection, before the first poll. */
  readonly initialDelayMs: number;
  /** Queues that are polled even if no event names them. */
  readonly queues: readonly string[];
  readonly redis: RedisKeys;
}

/** The names of kombu’s keys in Redis, without the prefix of all (transport/redis.py). */
export interface RedisKeys {
  /** Between the name of a queue and its priority, and between the parts of a binding; undefined: that of the workers. */
  readonly separator: string | undefined;
  /** Ascending; each has a list of its own. */
  readonly prioritySteps: readonly number[];
  readonly unackedKey: string;
  readonly unackedIndexKey: string;
  readonly visibilityTimeoutMs: number;
}

export interface PollQuestion {
  /** The most important ones first. */
  readonly queues: readonly string[];
  /** Whether to look at each unacknowledged message for its queue, which takes a round trip for every fifty. */
  readonly unackedByQueue: boolean;
  readonly redis: RedisKeys;
  /** Celery’s `control_exchange`: on Redis, bindings of remote control show the workers’ separator. */
  readonly namespace: string;
  /** What is known of workers that keep their names with other separators; undefined: nothing. */
  readonly fates?: Fates | undefined;
}

/** Something that a worker that is gone left behind in Redis. */
export interface Leftover {
  readonly member: string;
  /** What to write in `redis-cli`. */
  readonly removal: string;
}

export interface QueueDepth {
  readonly queue: string;
  /** Messages that a worker could take now. */
  readonly length: number;
  /** The same by priority, if the broker knows it. */
  readonly byPriority?: readonly (readonly [priority: number, length: number])[];
  readonly consumers?: number;
}

/** Messages that workers have taken and not acknowledged, of all queues together. */
export interface Unacked {
  readonly count: number;
  /** How long the oldest has been held; 0 if there is none. */
  readonly oldestAgeS: number;
  /** How many have been held for most of the visibility timeout: they will be delivered again soon. */
  readonly expiring: number;
  readonly visibilityTimeoutS: number;
  /** Those of each queue, if that was asked for and is not too much. */
  readonly byQueue?: readonly (readonly [queue: string, count: number])[];
}

/** What a broker knows at one moment. */
export interface BrokerReading {
  /** Queues that do not exist are absent. */
  readonly queues: readonly QueueDepth[];
  /** Messages whose ETA RabbitMQ waits for (native delayed delivery); undefined if it is not in use. */
  readonly delayed?: number;
  readonly unacked?: Unacked;
  /** Names of workers that are gone, with another separator than that of those that live: they are not counted. */
  readonly leftovers?: readonly Leftover[];
  /** What is missing, and why. */
  readonly incomplete: readonly string[];
}
