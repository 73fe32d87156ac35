/** The table of brokers, one row each; `transports.ts` has their transports. It does nothing itself. */
import { CeleryOtelError } from '../text/errors.ts';
import { AMQP } from './amqp/kind.ts';
import type { BrokerKind } from './broker-kind.ts';
import { RECORDING } from './recording/kind.ts';
import { REDIS } from './redis/kind.ts';
import type { BrokerAddress } from './server/address.ts';

/** In the order in which messages name their schemes. */
export const KINDS = [AMQP, REDIS, RECORDING] as const;

type Row = (typeof KINDS)[number];
export type KindName = Row['name'];
/** The addresses that an option can be for, by their names in the rows. */
export type KindOption = OptionOf<Row>;
export type BrokerUrl = ReturnType<Row['atFullSpeed']>;

type OptionOf<Each> = Each extends { readonly options: infer Groups } ? keyof Groups : never;

export type Kind = BrokerKind<BrokerUrl, KindName>;

/** The row of an address; undefined if its scheme is in no row, which only a program without our types can pass. */
export function findKind(url: BrokerAddress): Kind | undefined {
  return KINDS.find((each) => each.owns(url));
}

/** The row of an address. */
export function kindOf(url: BrokerAddress): Kind {
  const kind = findKind(url);
  if (kind === undefined) {
    throw new CeleryOtelError('CONFIG_INVALID', 'the address of a broker has a scheme that is not supported');
  }
  return kind;
}

/** The rows of these addresses, without repetition. */
export function kindsOf(urls: readonly BrokerAddress[]): readonly Kind[] {
  return [...new Set(urls.map(kindOf))];
}

/** Whether these addresses are a recording, which is always alone. */
export function isReplay(urls: readonly BrokerAddress[]): boolean {
  return urls.some((url) => kindOf(url).isReplay);
}
