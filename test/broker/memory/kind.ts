/** The row of a broker of the tests’ own, in the memory of this process: `memory://NAME`. */
import { type BrokerKind, brokerKind } from '../../../src/broker/broker-kind.ts';
import type { BrokerAddress } from '../../../src/broker/server/address.ts';

export interface MemoryUrl extends BrokerAddress {
  readonly name: string;
}

export const MEMORY: BrokerKind<MemoryUrl, 'memory', never> = brokerKind({
  name: 'memory',
  title: 'Memory',
  protocol: 'memory',
  schemes: {
    memory: {
      form: 'address',
      parse: (rest) => ({ ok: true, url: { scheme: 'memory', name: rest, label: `memory://${rest}` } }),
    },
  },
  refusedSchemes: {},
  options: {},
  system: 'memory',
  isReplay: false,
  hasExchanges: false,
  hasVisibilityTimeout: false,
  failedReplyStopsWorker: false,
  useSsl: undefined,
  causes: [
    {
      matches: (said) => said === 'forgotten',
      cause: 'nobody remembers {at}',
      remedy: 'write the name of a memory in broker_url',
    },
  ],
  place: ({ name }) => ({ address: name, port: undefined, shown: name, isSingle: true }),
  secrets: () => [],
  parameters: () => ({}),
  faults: () => [],
  atFullSpeed: (url) => url,
});
