/**
 * An OTLP/gRPC metrics receiver inside this process: takes what an exporter sends and keeps the last state of every
 * series. It listens on loopback only.
 */
import { EventEmitter, once } from 'node:events';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { decodePoints, type Point } from './otlp-points.ts';

/** What one request held. */
export interface ReceivedExport {
  readonly points: readonly Point[];
  readonly metadata: Readonly<Record<string, string>>;
}

export interface ReceiverOptions {
  /** 0: a free one. */
  readonly port?: number;
  readonly credentials?: ServerCredentials;
  readonly onExport?: (received: ReceivedExport) => void;
  /** Asked for each request: what to answer instead of taking it in. */
  readonly refuse?: () => { readonly code: status; readonly details: string } | undefined;
  /** Waited for before each answer. */
  readonly hold?: () => Promise<void>;
}

export interface Receiver {
  readonly port: number;
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** The points of the newest export of each resource. */
  latest(serviceName: string): readonly Point[];
  /** How many requests were taken in. */
  exports(): number;
  /** Resolves with the newest points once they satisfy the condition. @throws after the time-out, with what had come */
  waitFor(
    serviceName: string,
    condition: (points: readonly Point[]) => boolean,
    timeoutMs: number,
  ): Promise<readonly Point[]>;
  stop(): Promise<void>;
}

const METHOD_PATH = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';

/** For requests that are under way when it stops. */
const SHUTDOWN_MS = 300;

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const newest = new Map<string, readonly Point[]>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let taken = 0;

  function take(received: ReceivedExport): void {
    taken += 1;
    const byService = Map.groupBy(received.points, (point) => point.resource['service.name'] ?? '');
    for (const [serviceName, points] of byService) newest.set(serviceName, points);
    options.onExport?.(received);
    arrivals.emit('export');
  }

  async function answer(call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): Promise<void> {
    await options.hold?.();
    const refusal = options.refuse?.();
    if (refusal !== undefined) return done(refusal);
    const metadata = Object.entries(call.metadata.getMap()).map(
      ([key, value]) => [key, value.toString()] as const,
    );
    take({ points: decodePoints(call.request), metadata: Object.fromEntries(metadata) });
    // An empty response is a full success.
    done(null, Buffer.alloc(0));
  }

  const server = new Server({ 'grpc.max_receive_message_length': 4 * 1024 * 1024 });
  const bytes = (body: Buffer): Buffer => body;
  server.addService(
    {
      Export: {
        path: METHOD_PATH,
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    {
      Export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        answer(call, done).catch((error: unknown) => done({ code: status.INTERNAL, details: String(error) }));
      },
    },
  );
  const port = await bind(
    server,
    options.port ?? 0,
    options.credentials ?? ServerCredentials.createInsecure(),
  );

  const latest = (serviceName: string): readonly Point[] => newest.get(serviceName) ?? [];
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    latest,
    exports: () => taken,
    async waitFor(serviceName, condition, timeoutMs) {
      const signal = AbortSignal.timeout(timeoutMs);
      while (!condition(latest(serviceName))) {
        await once(arrivals, 'export', { signal }).catch((cause: unknown) => {
          throw new Error(inVain(serviceName, condition, timeoutMs, { newest, taken }), { cause });
        });
      }
      return latest(serviceName);
    },
    stop: () => shutDown(server),
  };
}

const CONDITION_CHARS_MAX = 300;
const NAMES_MAX = 20;

/** What was waited for, and what had come: of the newest export of the service, how many points of which metrics. */
function inVain(
  serviceName: string,
  condition: (points: readonly Point[]) => boolean,
  timeoutMs: number,
  { newest, taken }: { readonly newest: ReadonlyMap<string, readonly Point[]>; readonly taken: number },
): string {
  const wanted = String(condition).replaceAll(/\s+/gu, ' ').slice(0, CONDITION_CHARS_MAX);
  const byMetric = Map.groupBy(newest.get(serviceName) ?? [], ({ metric }) => metric);
  const had = listed([...byMetric].map(([metric, points]) => `${metric} ${points.length}`));
  const others = listed([...newest.keys()].filter((name) => name !== serviceName));
  return (
    `waited ${timeoutMs} ms for points of ${serviceName} with which this is true: ${wanted}; ` +
    `those of its newest export: ${had}; requests in all: ${taken}; other services: ${others}`
  );
}

function listed(names: readonly string[]): string {
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '';
  return names.length === 0 ? 'none' : names.slice(0, NAMES_MAX).join(', ') + more;
}

/** Requests under way get a moment to end: a stream that is destroyed while data come in can bring Node down (22.23). */
async function shutDown(server: Server): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const patience = setTimeout(() => ended.resolve(), SHUTDOWN_MS);
  server.tryShutdown(() => ended.resolve());
  await ended.promise;
  clearTimeout(patience);
  server.forceShutdown();
}

function bind(server: Server, port: number, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
}
