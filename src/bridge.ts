/**
 * The bridge as a whole: its Celery services, each under a resource of its own, and its own telemetry. Start, state,
 * stop; the command line and a program that embeds it make the same calls.
 */
import { diag, type MeterProvider } from '@opentelemetry/api';
import type { BridgeOptions, StopReport } from './bridge-options.ts';
import { CeleryOtelError } from './errors.ts';
import { createOutlets, SELF_NAME } from './outlets.ts';
import type { Tell } from './self/self-event.ts';
import { type Service, type ServiceState, startService } from './service.ts';

export interface ReadyReport {
  /** `ready`: every service has been connected, or played its recording, at least once. */
  readonly kind: 'ready' | 'stopped';
  readonly services: readonly ServiceState[];
}

export interface Bridge {
  /** Begins to listen and to export. A broker that is not there is waited for. @throws CeleryOtelError ALREADY_STARTED */
  start(): void;
  /** Resolves once all services are connected, or stopped before that. */
  readonly ready: Promise<ReadyReport>;
  /** Resolves when every source is over: a recording to its end, or unusable; brokers never are. Stopping resolves it too. */
  readonly finished: Promise<'stopped' | 'finished' | 'unusable'>;
  /** Of every service, in the order of the options. */
  state(): readonly ServiceState[];
  /** Stops listening, exports once more and closes. Safe before start() and more than once. */
  stop(deadlineMs: number): Promise<StopReport>;
}

/** @throws CeleryOtelError CONFIG_INVALID where services could not be told apart, or nobody says where metrics go */
export function createBridge(options: BridgeOptions): Bridge {
  check(options);
  let running: Running | undefined;
  let stopped: Promise<StopReport> | undefined;
  const finished = Promise.withResolvers<Awaited<Bridge['finished']>>();
  const ready = Promise.withResolvers<ReadyReport>();
  return {
    start() {
      if (running !== undefined || stopped !== undefined) {
        throw new CeleryOtelError('ALREADY_STARTED', 'This bridge was started before.');
      }
      running = startAll(options);
      void running.finished.then(finished.resolve);
      void running.ready.then(ready.resolve);
    },
    ready: ready.promise,
    finished: finished.promise,
    state: () => running?.state() ?? [],
    stop(deadlineMs) {
      stopped ??= running === undefined ? Promise.resolve(NOTHING_RAN) : running.stop(deadlineMs);
      if (running === undefined) {
        finished.resolve('stopped');
        ready.resolve({ kind: 'stopped', services: [] });
      }
      return stopped;
    },
  };
}

const NOTHING_RAN: StopReport = { flushed: true, services: [] };

interface Running extends Pick<Bridge, 'ready' | 'finished' | 'state' | 'stop'> {}

function startAll(options: BridgeOptions): Running {
  const { random = Math.random } = options;
  const told = guarded(options.tell);
  const outlets = createOutlets(options, told, random);
  const { tell, self } = outlets;
  const services = options.services.map((config): Service => {
    const { meter, retire } = outlets.outlet(config);
    return startService({ ...config, meter, retire, self, tell, random });
  });
  outlets.start(() => services.map((service) => service.reading()));
  const state = (): readonly ServiceState[] => services.map((service) => service.state());
  const finished = Promise.all(services.map(({ done }) => done)).then(endOf);
  const allReady = Promise.all(services.map(({ ready }) => ready));
  return {
    state,
    finished,
    ready: allReady.then((each) => ({
      kind: each.every((isReady) => isReady) ? 'ready' : 'stopped',
      services: state(),
    })),
    async stop(deadlineMs) {
      for (const { name } of options.services) told({ kind: 'service-stopping', service: name });
      const endMs = performance.now() + deadlineMs;
      await Promise.all(services.map((service) => service.stop()));
      const report = await outlets.close(Math.max(0, endMs - performance.now()));
      for (const service of services) service.close();
      for (const { name, metrics } of report.services) {
        told({ kind: 'service-stopped', service: name, metrics });
      }
      return report;
    },
  };
}

/** What is told must cost nobody anything, though the one who is told fails. */
function guarded(tell: Tell = () => {}): Tell {
  return (event) => {
    try {
      tell(event);
    } catch (error) {
      diag.error(`celery-otel: whoever is told of ${event.kind} failed`, error);
    }
  };
}

type End = Awaited<Service['done']>;

/** How all of them ended: as the worst of them. */
function endOf(ends: readonly End[]): End {
  return (['unusable', 'stopped', 'finished'] as const).find((end) => ends.includes(end)) ?? 'finished';
}

function check({ services, otlp, self }: BridgeOptions): void {
  const names = services.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) refuse(`two services have the name ${JSON.stringify(twice)}`);
  if (names.includes(SELF_NAME)) refuse(`a service has the name of the bridge itself, ${SELF_NAME}`);
  const providers = services.flatMap(({ meterProvider }) => meterProvider ?? []);
  // Nothing on a point says of which service it is: that is what resources are for.
  if (new Set(providers).size < providers.length) {
    refuse('two services have one meterProvider, where their counts could not be told apart');
  }
  const isAttached = (one: { readonly meterProvider?: MeterProvider }) => one.meterProvider !== undefined;
  if (otlp === undefined && !(services.every(isAttached) && (!self.enabled || isAttached(self)))) {
    refuse(
      'there is no otlp, and not everything has a meterProvider',
      'Give otlp, or a meterProvider to every service and to self (or switch self off).',
    );
  }
}

function refuse(message: string, hint = 'Mend the options of createBridge.'): never {
  throw new CeleryOtelError('CONFIG_INVALID', message, { hint });
}
