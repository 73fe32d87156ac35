/**
 * The bridge as a whole: its Celery services, each under a resource of its own, and its own telemetry. Start, state,
 * stop; the command line and a program that embeds it make the same calls.
 */
import type { ServiceConfig } from './config/config.ts';
import { CeleryOtelError } from './errors.ts';
import { createSelfRecorder, type SelfRecorder } from './meter/self-recorder.ts';
import { createProvider, type Provider } from './otlp/provider.ts';
import { serviceResource } from './otlp/resource.ts';
import type { Tell } from './self/self-event.ts';
import { type Service, type ServiceState, startService } from './service.ts';
import { VERSION } from './version.ts';

export interface BridgeOptions {
  readonly service: ServiceConfig;
  /** Told of everything that happens to the bridge; nothing is logged unless it does so. */
  readonly tell?: Tell;
  /** In [0, 1); spreads reconnects. */
  readonly random?: () => number;
}

export interface StopReport {
  /** Whether everything counted was exported before the deadline. */
  readonly flushed: boolean;
}

export interface Bridge {
  /** Begins to listen and to export. A broker that is not there is waited for. @throws CeleryOtelError ALREADY_STARTED */
  start(): void;
  /** Resolves when every source is over: a recording to its end, or unusable; brokers never are. Stopping resolves it too. */
  readonly finished: Promise<'stopped' | 'finished' | 'unusable'>;
  state(): readonly ServiceState[];
  /** Stops listening, exports once more and closes. Safe before start() and more than once. */
  stop(deadlineMs: number): Promise<StopReport>;
}

/** `service.name` of the bridge's own metrics. */
const SELF_NAME = 'celery-otel';

/** Of the time to stop in: the users' metrics come before our own. */
const SERVICE_SHARE = 0.75;

interface Running {
  readonly service: Service;
  readonly selfRecorder: SelfRecorder;
  readonly provider: Provider;
  readonly selfProvider: Provider;
}

export function createBridge(options: BridgeOptions): Bridge {
  const { service: config, tell: told = () => {}, random = Math.random } = options;
  let running: Running | undefined;
  let stopped: Promise<StopReport> | undefined;
  const finished = Promise.withResolvers<Awaited<Bridge['finished']>>();

  function start(): void {
    if (running !== undefined || stopped !== undefined) {
      throw new CeleryOtelError('ALREADY_STARTED', 'This bridge was started before.');
    }
    const open = (name: string, attributes: Readonly<Record<string, string>>) =>
      createProvider(serviceResource(name, attributes), config.otlp, (outcome) =>
        tell({ kind: 'export-finished', service: name, ...outcome }),
      );
    const selfProvider = open(SELF_NAME, { 'service.version': VERSION });
    const selfRecorder = createSelfRecorder(selfProvider.meter(SELF_NAME, VERSION));
    const tell: Tell = (event) => {
      selfRecorder.record(event);
      told(event);
    };
    const provider = open(config.name, config.attributes);
    const service = startService({
      name: config.name,
      broker: config.broker,
      cluster: config.cluster,
      choice: config.choice,
      meter: provider.meter(SELF_NAME, VERSION),
      retire: (workers) => provider.retire('celery.worker.name', new Set(workers)),
      self: selfRecorder,
      tell,
      random,
    });
    void service.done.then(finished.resolve);
    running = { service, selfRecorder, provider, selfProvider };
  }

  async function shutDown(deadlineMs: number): Promise<StopReport> {
    if (running === undefined) return { flushed: true };
    const { service, selfRecorder, provider, selfProvider } = running;
    told({ kind: 'service-stopping', service: config.name });
    const untilMs = performance.now() + deadlineMs;
    await service.stop();
    // One after the other: the last export of the service is itself among what the bridge tells of itself.
    const flushed = await provider.shutdown(deadlineMs * SERVICE_SHARE);
    const selfFlushed = await selfProvider.shutdown(Math.max(0, untilMs - performance.now()));
    service.close();
    selfRecorder.close();
    told({ kind: 'service-stopped', service: config.name, flushed: flushed && selfFlushed });
    return { flushed: flushed && selfFlushed };
  }

  return {
    start,
    finished: finished.promise,
    state: () => (running === undefined ? [] : [running.service.state()]),
    stop(deadlineMs) {
      stopped ??= shutDown(deadlineMs);
      return stopped;
    },
  };
}
