/**
 * An OTLP/gRPC metrics receiver in this process: keeps the newest export of each service. It listens on loopback only.
 */
import { EventEmitter, once } from 'node:events';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { createNewestPoints, type NewestPoints } from './newest-points.ts';
import { decodePoints, type Point, total } from './otlp-points.ts';

/** The content of one request; an export of more than 1000 points has several. */
export interface ReceivedExport {
  readonly points: readonly Point[];
  readonly metadata: Readonly<Record<string, string>>;
}

export interface ReceiverOptions {
  /** 0 picks a free port. */
  readonly port?: number;
  readonly credentials?: ServerCredentials;
  /** Called for each request. */
  readonly onExport?: (received: ReceivedExport) => void;
  /** Called for each request: the error to respond with, or undefined to accept it. */
  readonly refuse?: () => { readonly code: status; readonly details: string } | undefined;
  /** Awaited before each response. */
  readonly hold?: () => Promise<void>;
}

export interface Receiver {
  readonly port: number;
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** The points of the newest export of a service; see {@link NewestPoints.of}. */
  latest(serviceName: string): readonly Point[];
  /** The number of accepted requests. */
  exports(): number;
  /** Resolves with the newest points once they satisfy the condition. @throws after the time-out, with what has arrived */
  waitFor(
    serviceName: string,
    condition: (points: readonly Point[]) => boolean,
    timeoutMs: number,
  ): Promise<readonly Point[]>;
  stop(): Promise<void>;
}

const METHOD_PATH = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';

/** For requests in progress when it stops. */
const SHUTDOWN_MS = 300;

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const newest = createNewestPoints();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let taken = 0;

  function take(received: ReceivedExport, bytes: number): void {
    taken += 1;
    newest.take(received.points, bytes);
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
    const points = decodePoints(call.request);
    take({ points, metadata: Object.fromEntries(metadata) }, call.request.length);
    // An empty response means full success.
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

  return {
    port,
    url: `http://127.0.0.1:${port}`,
    latest: newest.of,
    exports: () => taken,
    async waitFor(serviceName, condition, timeoutMs) {
      const signal = AbortSignal.timeout(timeoutMs);
      for (;;) {
        const latest = newest.of(serviceName);
        if (condition(latest)) return latest;
        await once(arrivals, 'export', { signal }).catch((cause: unknown) => {
          throw new Error(timedOut(serviceName, condition, timeoutMs, { newest, taken }), { cause });
        });
      }
    },
    stop: () => shutDown(server),
  };
}

const CONDITION_CHARS_MAX = 300;
const NAMES_MAX = 20;

/** What was expected, and what has arrived: each metric of the newest export, with the number of its points and their sum. */
function timedOut(
  serviceName: string,
  condition: (points: readonly Point[]) => boolean,
  timeoutMs: number,
  { newest, taken }: { readonly newest: NewestPoints; readonly taken: number },
): string {
  const wanted = String(condition).replaceAll(/\s+/gu, ' ').slice(0, CONDITION_CHARS_MAX);
  const latest = newest.of(serviceName);
  const byMetric = Map.groupBy(latest, ({ metric }) => metric);
  const received = listed(
    [...byMetric].map(([metric, { length }]) => `${metric} ${length} (${sumOf(latest, metric)})`),
  );
  const others = listed(newest.services().filter((name) => name !== serviceName));
  return (
    `within ${timeoutMs} ms, no points of ${serviceName} satisfied: ${wanted}; ` +
    `points of its newest export, with their sums: ${received}; requests: ${taken}; other services: ${others}`
  );
}

function sumOf(points: readonly Point[], metric: string): number {
  return Math.round(total(points, metric) * 1000) / 1000;
}

function listed(names: readonly string[]): string {
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '';
  return names.length === 0 ? 'none' : names.slice(0, NAMES_MAX).join(', ') + more;
}

/** Requests in progress get a moment to end: destroying a stream while data arrives can crash Node (22.23). */
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
