/** The row of recordings, which are replayed instead of a broker. It reads no file. */
import { type BrokerKind, brokerKind } from '../broker-kind.ts';
import { parseRecordingUrl, type RecordingUrl } from './url.ts';

export const RECORDING: BrokerKind<RecordingUrl, 'recording', never> = brokerKind({
  name: 'recording',
  title: 'a recording',
  protocol: 'a recording',
  schemes: { recording: { form: 'path', shown: 'recording:FILE', parse: parseRecordingUrl } },
  refusedSchemes: {},
  options: {},
  system: undefined,
  isReplay: true,
  hasExchanges: false,
  hasVisibilityTimeout: false,
  failedReplyStopsWorker: false,
  useSsl: undefined,
  causes: [],
  place: () => undefined,
  secrets: () => [],
  parameters: ({ speed }) => ({ speed }),
  faults: ({ speed }) =>
    speed > 0 ? [] : [{ path: 'speed', value: speed, expected: 'a number above 0, or Infinity' }],
  atFullSpeed: (url) => ({ ...url, speed: Number.POSITIVE_INFINITY }),
});
