/** The settings of Redis. Types only. */
import type { BrokerTls } from '../server/address.ts';

/** Named after kombu’s transport options (transport/redis.py). */
export interface RedisSettings {
  /** The name of the master at the sentinels; '' without sentinels. */
  readonly masterName: string;
  /** The login and TLS settings of the sentinels themselves, as in `sentinel_kwargs`. */
  readonly sentinel: {
    readonly username: string | undefined;
    readonly password: string | undefined;
    readonly tls: BrokerTls | undefined;
  };
  /** The prefix of each key and channel. */
  readonly globalKeyprefix: string;
  /** The prefix of each channel; `{db}` stands for the database number. */
  readonly fanoutPrefix: string;
  /** Whether the name of a channel ends with the routing key. */
  readonly fanoutPatterns: boolean;
  /** The name of our connections in the server’s list of clients. */
  readonly clientName: string;
  readonly socketKeepalive: boolean;
  /** A connection is dead if nothing has arrived for this time plus `socketTimeoutMs`, despite a request. */
  readonly healthCheckIntervalMs: number;
  readonly socketTimeoutMs: number;
}
