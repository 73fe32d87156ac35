/** Runs one session of a transport and records it, for tests of any transport. */
import type { TestContext } from 'node:test';
import type {
  Deliver,
  NotOpened,
  RawMessage,
  Session,
  SessionEnd,
  SessionOptions,
  Transport,
} from '../../src/broker/broker.ts';
import { type AmqpUrl, type BrokerUrl, parseBrokerUrls } from '../../src/broker/broker-url.ts';
import type { BrokerAddress } from '../../src/broker/server/address.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { Log } from './log.ts';

export interface ObservedSession {
  /** The events, in order. */
  readonly log: Log<'ready' | RawMessage>;
  readonly ended: Promise<NotOpened | SessionEnd>;
  readonly stopping: AbortController;
  /** Resolves when the session is open, and rejects if it ends before that. */
  ready(): Promise<void>;
  /** As {@link ready}, with the session. */
  session(): Promise<Session>;
  /** Ends it, if it does not end by itself. */
  end(): Promise<void>;
  /** Resolves with the messages once there are so many. */
  delivered(count: number): Promise<readonly RawMessage[]>;
}

export interface Given extends Partial<SessionOptions> {
  readonly url: BrokerAddress;
  /** By default each message is logged. */
  readonly deliver?: Deliver;
  /** Called instead of logging it. */
  readonly ready?: (exchange?: string) => void;
}

export function observeSession(t: TestContext, transport: Transport, given: Given): ObservedSession {
  const log = new Log<'ready' | RawMessage>();
  const stopping = new AbortController();
  const { deliver = (message) => log.add(message), ready = () => log.add('ready'), ...options } = given;
  const open = Promise.withResolvers<Session>();
  async function run(): Promise<NotOpened | SessionEnd> {
    const opening = await transport.open({
      connectTimeoutMs: DEADLINE_MS,
      bodyBytesMax: 2_097_152,
      onExchangeDeclared: () => undefined,
      onPublishing: () => undefined,
      onShed: () => undefined,
      signal: stopping.signal,
      ...options,
    });
    if (opening.kind !== 'opened') return opening;
    ready(opening.session.exchange);
    open.resolve(opening.session);
    return opening.session.receive(deliver);
  }
  const ended = run();
  const end = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  t.after(end);
  const endedEarly = ended.then((end) => {
    throw new Error(`the session ended: ${JSON.stringify(end)}`);
  });
  endedEarly.catch(() => undefined);
  return {
    log,
    ended,
    stopping,
    end,
    session: () => Promise.race([open.promise, endedEarly]),
    ready: async () => void (await Promise.race([log.find((item) => item === 'ready'), endedEarly])),
    async delivered(count) {
      await Promise.race([log.find(() => messagesOf(log).length >= count), ended]);
      return messagesOf(log);
    },
  };
}

export function messagesOf(log: Log<'ready' | RawMessage>): RawMessage[] {
  return log.items.filter((item) => item !== 'ready');
}

/** The only address of the text. */
export function addressOf(text: string): BrokerUrl {
  const parsed = parseBrokerUrls(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.urls[0];
}

export function amqpAddressOf(text: string): AmqpUrl {
  const url = addressOf(text);
  if (!('vhost' in url)) throw new Error(`${url.label} is no address of AMQP`);
  return url;
}
