/** What queue polls request from a broker, and what they return. Types only. */

import type { Fates } from './control/control.ts';

/** What to poll, and how often. */
export interface PollSettings {
  readonly intervalMs: number;
  /** The time between connecting and the first poll. */
  readonly initialDelayMs: number;
  /** Queues that are polled even if no event names them. */
  readonly queues: readonly string[];
  /** Patterns with `*` and `?`: the names of queues whose messages no worker is meant to consume. */
  readonly parkedQueues: readonly string[];
  readonly redis: RedisKeys;
}

/** The names of kombu’s keys in Redis, without their common prefix (transport/redis.py). */
export interface RedisKeys {
  /** The text between the name of a queue and its priority, and between the parts of a binding; undefined: the workers’ own. */
  readonly separator: string | undefined;
  /** kombu’s `priority_steps`, ascending; each has a list of its own. */
  readonly prioritySteps: readonly number[];
  readonly unackedKey: string;
  readonly unackedIndexKey: string;
  readonly visibilityTimeoutMs: number;
}

export interface PollQuestion {
  /** The queues to poll, the most important ones first. */
  readonly queues: readonly string[];
  /** Whether to read each unacknowledged message for its queue, which takes a round trip for every fifty. */
  readonly unackedByQueue: boolean;
  readonly redis: RedisKeys;
  /** Celery’s `control_exchange`: on Redis, bindings of remote control show the workers’ separator. */
  readonly namespace: string;
  /** Reports which workers with other separators may still be running; undefined: unknown. */
  readonly fates?: Fates | undefined;
}

/** Something that a stopped worker left behind in Redis. */
export interface Leftover {
  readonly member: string;
  /** The command for `redis-cli` that removes it. */
  readonly removal: string;
}

export interface QueueDepth {
  readonly queue: string;
  /** Messages ready to be consumed. */
  readonly length: number;
  /** The number of ready messages by priority, if the broker reports it. */
  readonly byPriority?: readonly (readonly [priority: number, length: number])[];
  /** Undefined: unknown. */
  readonly consumers?: number;
  /** Whether no worker is meant to consume the queue, as with dead letters. */
  readonly isParked?: boolean;
}

/** The messages of all queues that workers have taken and not acknowledged. */
export interface Unacked {
  readonly count: number;
  /** How long the oldest of these messages has been held, seconds; 0 if there is none. */
  readonly oldestAgeS: number;
  /** How many have been held for most of the visibility timeout and will soon be redelivered. */
  readonly expiring: number;
  readonly visibilityTimeoutS: number;
  /** The counts by queue, if requested and there are not too many messages. */
  readonly byQueue?: readonly (readonly [queue: string, count: number])[];
}

/** What a broker reports at one moment. */
export interface BrokerReading {
  /** The polled queues that exist. */
  readonly queues: readonly QueueDepth[];
  /** Whether the broker listed its queues, and all of them were polled. */
  readonly areAll?: boolean;
  /** Messages that RabbitMQ holds until their ETA (native delayed delivery); undefined if not in use. */
  readonly delayed?: number;
  readonly unacked?: Unacked;
  /** Names that stopped workers left with another separator than the live ones; they are ignored. */
  readonly leftovers?: readonly Leftover[];
  /** Messages that say what is missing, and why. */
  readonly incomplete: readonly string[];
}
