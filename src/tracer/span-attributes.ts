/** The tables of span attributes. Spans, sampling rules and documentation are derived from them. Pure. */
import { printable } from '../text/printable.ts';
import { errorTypeOf } from './outcomes.ts';
import type { AttributeValue } from './span.ts';
import type { SpanFacts, SpanNames, Surroundings } from './span-facts.ts';

/** An attribute is omitted if its value is undefined, '' or a number that is not finite. */
type Value = AttributeValue | undefined;

export interface AttributeRow<Facts> {
  readonly description: string;
  /** The spans that can have the attribute. */
  readonly on: 'send' | 'process' | 'both';
  /** Whether the value is a fraction. It is then exported as a double even if it is whole: some backends refuse a change of type. */
  readonly isDouble?: true;
  readonly value: (facts: Facts, surroundings: Surroundings) => Value;
}

const YEAR_10000_MS = 253_402_300_800_000;

/** The attributes that are equal on all spans with the same `SpanNames`. */
export const SHARED_ATTRIBUTES: Readonly<Record<string, AttributeRow<SpanNames>>> = {
  'messaging.operation.name': {
    description: '`send` or `process`.',
    on: 'both',
    value: ({ operation }) => operation,
  },
  'messaging.operation.type': {
    description: '`send` or `process`.',
    on: 'both',
    value: ({ operation }) => operation,
  },
  'messaging.system': {
    description: '`rabbitmq` or `redis`. Backends still read this former name of `messaging.system.name`.',
    on: 'both',
    value: (_, { broker }) => broker.system,
  },
  'messaging.system.name': {
    description: '`rabbitmq` or `redis`.',
    on: 'both',
    value: (_, { broker }) => broker.system,
  },
  'messaging.destination.name': {
    description: 'The queue for the default exchange, otherwise `exchange:key` or `exchange:key:queue`.',
    on: 'both',
    value: ({ destination }) => destination,
  },
  'server.address': {
    description: 'Host of the broker.',
    on: 'both',
    value: (_, { broker }) => broker.address,
  },
  'server.port': { description: 'Port of the broker.', on: 'both', value: (_, { broker }) => broker.port },
  'celery.task.name': {
    description: 'Name of the task, as on the metrics.',
    on: 'both',
    value: ({ task }) => task,
  },
  'celery.queue.name': {
    description: 'Queue that the task was sent to, as on the metrics.',
    on: 'both',
    value: ({ queue }) => queue,
  },
  'celery.worker.name': {
    description: 'Nodename of the worker, as on the metrics.',
    on: 'process',
    value: ({ worker }) => worker,
  },
};

/** The attributes that differ from span to span. */
export const OWN_ATTRIBUTES: Readonly<Record<string, AttributeRow<SpanFacts>>> = {
  'messaging.message.id': {
    description: 'Id of the task.',
    on: 'both',
    value: ({ reported }) => printable(reported.uuid),
  },
  'messaging.client.id': {
    description: 'Nodename of the sender, or of the worker.',
    on: 'both',
    value: clientOf,
  },
  'host.name': {
    description: 'Host of the sender, or of the worker: the part of its nodename after the `@`.',
    on: 'both',
    value: (facts) => hostIn(clientOf(facts)),
  },
  'celery.task.outcome': {
    description: 'How the run ended.',
    on: 'process',
    value: ({ run }) => run?.outcome,
  },
  'celery.task.retries': {
    description: 'Number of earlier retries; absent if 0.',
    on: 'both',
    value: ({ run, sent }) => run?.retries || sent?.retries || undefined,
  },
  'celery.task.root_id': {
    description: 'Id of the first task of the workflow, if the trace id differs from it.',
    on: 'both',
    value: ({ reported, isRootHidden }) => (isRootHidden ? printable(reported.rootId) : undefined),
  },
  'celery.task.parent_id': {
    description: 'Id of the task that sent this task, if no parent span shows it.',
    on: 'both',
    value: ({ reported, isParentHidden }) => (isParentHidden ? printable(reported.parentId) : undefined),
  },
  'celery.task.wait_time': {
    description: 'From the sending, or the ETA if later, to the start, as in the metric; s.',
    on: 'process',
    isDouble: true,
    value: ({ run }) => run?.waitTimeS,
  },
  'celery.task.queue_time': {
    description: 'From the sending to the receipt, as in the metric; s.',
    on: 'process',
    isDouble: true,
    value: ({ run }) => run?.queueTimeS,
  },
  'celery.task.prefetch_time': {
    description: 'From the receipt, or the ETA if later, to the start, as in the metric; s.',
    on: 'process',
    isDouble: true,
    value: ({ run }) => run?.prefetchTimeS,
  },
  'celery.task.slow': {
    description: '`true` if the task ran for `slow_after` or longer; otherwise absent.',
    on: 'process',
    value: ({ durationMs }, { settings: { slowAfterMs } }) =>
      durationMs !== undefined && slowAfterMs !== undefined && durationMs >= slowAfterMs ? true : undefined,
  },
  'celery.task.eta': {
    description: 'The earliest time to start, ISO 8601.',
    on: 'send',
    value: ({ sent }) => isoTime(sent?.etaMs),
  },
  'celery.task.expires': {
    description: 'When the task expires if it has not started, ISO 8601.',
    on: 'send',
    value: ({ sent }) => isoTime(sent?.expiresMs),
  },
  'error.type': {
    description:
      'Class of the exception of a failed or retried run, as on the metrics; otherwise `Reject`, `terminated` or `lost`.',
    on: 'process',
    value: ({ run }) => run && errorTypeOf(run),
  },
  'celery.task.args': {
    description: 'Positional arguments, if `arguments` is enabled.',
    on: 'both',
    value: ({ run, sent }, surroundings) => optional(run?.args ?? sent?.args, surroundings),
  },
  'celery.task.kwargs': {
    description: 'Keyword arguments, if `arguments` is enabled.',
    on: 'both',
    value: ({ run, sent }, surroundings) => optional(run?.kwargs ?? sent?.kwargs, surroundings),
  },
  'celery.task.result': {
    description: 'Return value, if `arguments` is enabled.',
    on: 'process',
    value: ({ run }, surroundings) => optional(run?.result, surroundings),
  },
};

/** The attributes that are always exported as doubles. */
export const DOUBLE_ATTRIBUTES: ReadonlySet<string> = new Set(
  Object.entries(OWN_ATTRIBUTES).flatMap(([key, { isDouble }]) => (isDouble ? [key] : [])),
);

function clientOf({ sent, worker }: SpanFacts): string {
  return sent === undefined ? worker : sent.sender;
}

function hostIn(nodename: string): string {
  const at = nodename.indexOf('@');
  return at < 0 ? '' : nodename.slice(at + 1);
}

function optional(text: string | undefined, { settings, redaction }: Surroundings): string | undefined {
  return settings.arguments && text ? redaction.text(text) : undefined;
}

function isoTime(ms: number | undefined): string | undefined {
  return ms !== undefined && ms >= 0 && ms < YEAR_10000_MS ? new Date(ms).toISOString() : undefined;
}
