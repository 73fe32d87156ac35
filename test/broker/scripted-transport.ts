/** A transport scripted by a test, and what the test observes of a listener that uses it. */
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type {
  Opening,
  RawMessage,
  Session,
  SessionEnd,
  SessionOptions,
  Transport,
} from '../../src/broker/broker.ts';
import { parseBrokerUrls } from '../../src/broker/broker-url.ts';
import { type Listener, type ListenOptions, listen } from '../../src/broker/session/session-loop.ts';
import type { Transports } from '../../src/broker/transports.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { SETTINGS } from './broker-settings.ts';
import { Log } from './log.ts';

/** The result of one attempt. */
export type Step = (options: SessionOptions) => Opening | Promise<Opening>;

export const MESSAGE: RawMessage = {
  arrivedAtMs: 1,
  exchange: 'celeryev',
  routingKey: 'worker.online',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: {},
  body: Buffer.from('{}'),
};

/** A session that is open while `receive` runs. */
export function opened(receive: Session['receive'], exchange?: string): Opening {
  const source = exchange === undefined ? {} : { exchange };
  return { kind: 'opened', session: { ...source, receive } };
}

/** Resolves when it is stopped. */
export function untilStopped({ signal }: SessionOptions): Promise<{ readonly kind: 'stopped' }> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ kind: 'stopped' }), { once: true });
  });
}

/** Lasts until it is stopped; `isOpen` says whether it gets that far. */
export function staying(isOpen: boolean): Step {
  return (options) => (isOpen ? opened(() => untilStopped(options)) : untilStopped(options));
}

/** A session that was open, and ended so. */
export function openThen(end: SessionEnd): Step {
  return () => opened(async () => end);
}

/** The steps as sessions of any broker; after the last step sessions stay connected. No time passes. */
export function scriptedTransports(
  steps: readonly Step[],
  {
    onAttempt = () => {},
    ...over
  }: Pick<Transport, 'reachable'> & { readonly onAttempt?: (options: SessionOptions) => void } = {},
): Transports {
  const script = [...steps];
  const transport: Transport = {
    async open(options) {
      onAttempt(options);
      return (script.shift() ?? staying(true))(options);
    },
    now: () => 4711,
    listenedMs: () => 42,
    ...over,
  };
  return {
    amqp: () => transport,
    redis: () => transport,
    recording: () => transport,
  };
}

export interface Scripted {
  readonly listener: Listener;
  readonly stopping: AbortController;
  readonly reported: Log<SelfEvent>;
  /** The label of the address of each attempt. */
  readonly attempts: Log<string>;
  /** The label of the address of each probe. */
  readonly probes: Log<string>;
  readonly delivered: Log<RawMessage>;
  /** Hosts that are reachable; none at first. */
  readonly listening: Set<string>;
  readonly pass: (ms: number) => Promise<void>;
}

const STEP_MS = 50;

/** Time that stands still. @returns what advances it in steps of 50 ms, between which everything settles */
export function mockedTime(t: TestContext): (ms: number) => Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let elapsedMs = 0;
  t.mock.method(performance, 'now', () => elapsedMs);
  return async (ms) => {
    await turn();
    for (const untilMs = elapsedMs + ms; elapsedMs < untilMs; ) {
      elapsedMs += STEP_MS;
      t.mock.timers.tick(STEP_MS);
      await turn();
    }
  };
}

/** Listens with the steps as its sessions, in mocked time; after the last step sessions stay connected. */
export function listenScripted(
  t: TestContext,
  steps: readonly Step[],
  given: { readonly addresses?: string } & Partial<ListenOptions> = {},
): Scripted {
  const pass = mockedTime(t);
  const parsed = parseBrokerUrls(given.addresses ?? 'amqp://a');
  if (!parsed.ok) throw new Error(parsed.reason);
  const [reported, attempts, probes] = [new Log<SelfEvent>(), new Log<string>(), new Log<string>()];
  const delivered = new Log<RawMessage>();
  const stopping = new AbortController();
  const listening = new Set<string>();
  const listener = listen({
    ...SETTINGS,
    urls: parsed.urls,
    ...{ connectTimeoutMs: 1000, bodyBytesMax: 2_097_152, service: 'shop' },
    deliver: (message) => delivered.add(message),
    report: (event) => reported.add(event),
    random: () => 0.5,
    signal: stopping.signal,
    transports: scriptedTransports(steps, {
      async reachable(url) {
        probes.add(url.label);
        return 'host' in url && listening.has(String(url.host));
      },
      onAttempt: ({ url }) => attempts.add(url.label),
    }),
    ...given,
  });
  t.after(async () => {
    stopping.abort();
    await listener.done;
  });
  return { listener, stopping, reported, attempts, probes, delivered, listening, pass };
}
