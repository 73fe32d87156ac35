/**
 * The contract of a kind of broker: one row with everything that the rest may need to know of it, besides its transport. The rows
 * are in `kinds.ts`; nothing else asks which broker it is. It opens no connection.
 */
import type { Parsed } from '../text/parsed.ts';
import type { AmqpSettings } from './amqp/settings.ts';
import type { RedisSettings } from './redis/settings.ts';
import type { AddressRules, BrokerAddress } from './server/address.ts';
import type { BrokerCause } from './server/causes.ts';

/** The settings of each kind that has any. */
export interface KindSettings {
  readonly amqp: AmqpSettings;
  readonly redis: RedisSettings;
}

export type TlsRules = Pick<AddressRules, 'isSecure' | 'useSsl'>;

/** How the addresses of a scheme are written and parsed. */
export type Scheme<Url> =
  | {
      readonly form: 'address';
      /** Whether the scheme requires TLS. */
      readonly isSecure?: true;
      /** @param rest what follows `scheme://` */
      readonly parse: (rest: string, rules: TlsRules) => Parsed<{ readonly url: Url }>;
    }
  | {
      /** All addresses of the scheme in a list are one broker. */
      readonly form: 'joined';
      readonly parse: (rests: readonly string[], rules: TlsRules) => Parsed<{ readonly url: Url }>;
    }
  | {
      /** A path instead of a URL. It must be the only address. */
      readonly form: 'path';
      /** The form that messages show. */
      readonly shown: string;
      /** @param rest what follows `scheme:` */
      readonly parse: (rest: string) => Parsed<{ readonly url: Url }>;
    };

/** The addresses that an option can be for. */
export interface OptionTarget {
  readonly schemes: readonly string[];
  /** What is expected instead of such an option if there is no such address, and why. */
  readonly unused: readonly [expected: string, because: string];
  /** The restriction, for help and documents. */
  readonly only: string;
}

/** Where a server is; one of several stands for all. */
export interface ServerPlace {
  /** A host, or the path of a socket. */
  readonly address: string;
  readonly port: number | undefined;
  /** All of them, as messages show them. */
  readonly shown: string;
  readonly isSingle: boolean;
}

/** A number of an address that an embedding program may get wrong. */
export interface AddressFault {
  readonly path: string;
  readonly value: unknown;
  readonly expected: string;
}

interface Facts<Url, Name extends string, Option extends string> {
  readonly name: Name;
  /** The name of the server, for messages. */
  readonly title: string;
  /** The name of what the addresses and options are for. */
  readonly protocol: string;
  readonly schemes: Readonly<Record<string, Scheme<Url>>>;
  /** Schemes of Celery that are not supported, with what to do instead. */
  readonly refusedSchemes: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<Option, OptionTarget>>;
  /** `messaging.system`; undefined if there is no server. */
  readonly system: string | undefined;
  /** Whether it replays what was recorded: it has a clock of its own, an end, and nobody to ask. */
  readonly isReplay: boolean;
  /** Whether events pass through an exchange that must exist. */
  readonly hasExchanges: boolean;
  /** Whether messages that are not acknowledged for some time are delivered again. */
  readonly hasVisibilityTimeout: boolean;
  /** Whether Celery up to 5.6 stops a worker that cannot encode a reply to remote control. */
  readonly failedReplyStopsWorker: boolean;
  /** How Celery’s `broker_use_ssl` is read; undefined if there is no TLS. */
  readonly useSsl: UseSsl | undefined;
  /** The likely causes of failed connections that only this kind has; tried before the common ones. */
  readonly causes: readonly BrokerCause[];
}

export interface UseSsl {
  /** The Python library whose names the keys have. */
  readonly keys: 'py-amqp' | 'redis-py';
  /** What is expected instead of `true`, if Celery ignores that. */
  readonly insteadOfTrue?: string;
  /** Schemes without TLS, and why. */
  readonly without?: Readonly<Record<string, string>>;
}

/** What is asked of an address. */
interface Questions<Url, Found> {
  /** Undefined if there is no server. */
  place(url: Url): ServerPlace | undefined;
  /** The secrets that are sent to the broker, which must not be shown. */
  secrets(url: Url, settings: KindSettings): readonly string[];
  /** Parameters that the label lacks, by their names. */
  parameters(url: Url): Readonly<Record<string, unknown>>;
  /** What is wrong in an address that was not parsed. */
  faults(url: Url): readonly AddressFault[];
  /** The address without anything that only slows it down. */
  atFullSpeed(url: Url): Found;
}

export interface BrokerKind<
  Url extends BrokerAddress,
  Name extends string = string,
  Option extends string = string,
> extends Facts<Url, Name, Option>,
    Questions<BrokerAddress, Url> {
  owns(url: BrokerAddress): url is Url;
}

/** A row from what is known of the kind’s own addresses. It throws if it is asked about another’s. */
export function brokerKind<Url extends BrokerAddress, Name extends string, Option extends string>(
  row: Facts<Url, Name, Option> & Questions<Url, Url>,
): BrokerKind<Url, Name, Option> {
  const owns = (url: BrokerAddress): url is Url => Object.hasOwn(row.schemes, url.scheme);
  function own(url: BrokerAddress): Url {
    if (owns(url)) return url;
    throw new Error(`an address of scheme ${url.scheme} is none of ${row.protocol}`);
  }
  return {
    ...row,
    owns,
    place: (url) => row.place(own(url)),
    secrets: (url, settings) => row.secrets(own(url), settings),
    parameters: (url) => row.parameters(own(url)),
    faults: (url) => row.faults(own(url)),
    atFullSpeed: (url) => row.atFullSpeed(own(url)),
  };
}

/** The fault of a number that is not whole, or out of range; none if it is fine. */
export function numberFaults(
  path: string,
  value: unknown,
  min: number,
  max: number,
): readonly AddressFault[] {
  const isFine = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  return isFine ? [] : [{ path, value, expected: `a whole number from ${min} to ${max}` }];
}
