/** Facts of finished runs for tests: what is not given is as of a plain task that succeeded. */
import type { Ancestry, FinishedRun, LoneSending, SentFacts } from '../../src/tracer/ancestry/finished.ts';
import type { Span } from '../../src/tracer/span.ts';
import type { TraceSettings } from '../../src/tracer/trace-settings.ts';
import { createTracer, type Redaction, type TracedBroker, type Tracer } from '../../src/tracer/tracer.ts';

export const T0_MS = 1_795_311_503_000;
export const UUID = '90817c7f-6c28-4fe5-aa46-7adb16d15d7d';
export const PARENT = '9ef3f114-760a-4af7-9064-83c28e3b001e';
export const BROKER: TracedBroker = { system: 'rabbitmq', address: 'mq', port: 5672 };

export const SETTINGS: TraceSettings = {
  sampler: { kind: 'always_on' },
  holdMs: 0,
  spans: 'all',
  join: false,
  sendSpans: true,
  slowAfterMs: undefined,
  maxDelayMs: 600_000,
  maxSpans: 5_000,
  maxAgeMs: 6 * 3_600_000,
  newTraceFor: [],
  serviceNames: [],
  arguments: false,
  attributeValueLengthMax: undefined,
  exceptionEvents: false,
};

/** Marks what has passed through it. */
export const REDACTION: Redaction = {
  error: (error) => ({ ...error, message: error.message.replaceAll('hunter2', '***') }),
  text: (text) => text.replaceAll('hunter2', '***'),
};

export function tracer(settings: Partial<TraceSettings> = {}, broker = BROKER): Tracer {
  return createTracer({ ...SETTINGS, ...settings }, broker, REDACTION);
}

export function sent(of: Partial<SentFacts> = {}): SentFacts {
  return {
    name: 'shop.charge',
    queue: 'orders',
    exchange: '',
    routingKey: 'orders',
    sender: 'gen1@web',
    sentMs: T0_MS,
    etaMs: undefined,
    expiresMs: undefined,
    args: '',
    kwargs: '',
    ...of,
  };
}

/** Of a root. */
function ancestry({ uuid = UUID, rootId = uuid }: Partial<Ancestry>): Ancestry {
  const parentPlace = { retries: 0, delivery: 0 };
  return { uuid, rootId, parentId: '', parentPlace, traceRootId: rootId, beginsTrace: false };
}

export function run(of: Partial<FinishedRun> = {}): FinishedRun {
  return {
    kind: 'run',
    ...ancestry(of),
    retries: 0,
    delivery: 0,
    run: { task: 'shop.charge', queue: 'orders', worker: 'w1@h' },
    outcome: 'succeeded',
    errorType: '',
    error: undefined,
    sent: undefined,
    isSentNew: of.sent !== undefined,
    previous: undefined,
    receivedMs: T0_MS + 10,
    startedMs: T0_MS + 20,
    endedMs: T0_MS + 120,
    reportedMs: T0_MS + 125,
    runtimeS: undefined,
    waitTimeS: undefined,
    queueTimeS: undefined,
    prefetchTimeS: undefined,
    args: '',
    kwargs: '',
    result: '',
    ...of,
  };
}

export function lone(of: Partial<LoneSending> = {}): LoneSending {
  return {
    kind: 'sending',
    ...ancestry(of),
    sent: sent(),
    reportedMs: T0_MS + 1000,
    ...of,
  };
}

/** The only span. */
export function onlySpan(spans: readonly Span[]): Span {
  const [first, ...others] = spans;
  if (first === undefined || others.length > 0) throw new Error(`${spans.length} spans`);
  return first;
}

/** All attributes of a span, as a backend gets them. */
export function attributesOf(span: Span): Readonly<Record<string, unknown>> {
  return { ...span.shared, ...span.attributes };
}
