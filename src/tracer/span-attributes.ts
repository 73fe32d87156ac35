/** The tables of attributes of spans, from which spans, sampling rules and documents are made. Pure. */
import { errorTypeOf } from './outcomes.ts';
import type { AttributeValue } from './span.ts';
import type { SpanFacts, SpanNames, Surroundings } from './span-facts.ts';

/** What is no finite number, and '', are left out, as undefined is. */
type Value = AttributeValue | undefined;

export interface AttributeRow<Facts> {
  readonly description: string;
  /** Which spans may have it. */
  readonly on: 'send' | 'process' | 'both';
  readonly value: (facts: Facts, surroundings: Surroundings) => Value;
}

const YEAR_10000_MS = 253_402_300_800_000;

/** These are the same for all spans of the same names. */
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
    description:
      'The queue; with an exchange that is not the default one, `exchange:key` or `exchange:key:queue`.',
    on: 'both',
    value: ({ destination }) => destination,
  },
  'server.address': {
    description: 'Host of the broker.',
    on: 'both',
    value: (_, { broker }) => broker.address,
  },
  'server.port': { description: 'Its port.', on: 'both', value: (_, { broker }) => broker.port },
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

export const OWN_ATTRIBUTES: Readonly<Record<string, AttributeRow<SpanFacts>>> = {
  'messaging.message.id': {
    description: 'Id of the task.',
    on: 'both',
    value: ({ reported }) => reported.uuid,
  },
  'messaging.client.id': {
    description: 'Nodename of the sender.',
    on: 'send',
    value: ({ sent }) => sent?.sender,
  },
  'celery.task.outcome': {
    description: 'How the run ended.',
    on: 'process',
    value: ({ run }) => run?.outcome,
  },
  'celery.task.retries': {
    description: 'How often it was retried before; not there if never.',
    on: 'process',
    value: ({ run }) => (run !== undefined && run.retries > 0 ? run.retries : undefined),
  },
  'celery.task.root_id': {
    description: 'Id of the first task of the workflow, where the trace id does not say it.',
    on: 'both',
    value: ({ reported, isRootHidden }) => (isRootHidden ? reported.rootId : undefined),
  },
  'celery.task.parent_id': {
    description: 'Id of the task that sent it, where no parent span says it.',
    on: 'both',
    value: ({ reported, isParentHidden }) => (isParentHidden ? reported.parentId : undefined),
  },
  'celery.task.wait_time': {
    description: 'From the sending, or the ETA if later, to the start, as in the metric; s.',
    on: 'process',
    value: ({ run }) => run?.waitTimeS,
  },
  'celery.task.queue_time': {
    description: 'From the sending to the receipt, as in the metric; s.',
    on: 'process',
    value: ({ run }) => run?.queueTimeS,
  },
  'celery.task.prefetch_time': {
    description: 'From the receipt, or the ETA if later, to the start, as in the metric; s.',
    on: 'process',
    value: ({ run }) => run?.prefetchTimeS,
  },
  'celery.task.slow': {
    description: '`true` if it ran for `slow_after` or longer; otherwise not there.',
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
    description: 'When it expires unless it has started, ISO 8601.',
    on: 'send',
    value: ({ sent }) => isoTime(sent?.expiresMs),
  },
  'error.type': {
    description:
      'Class of the exception if it failed or is retried, as on the metrics; `Reject`, `terminated` or `lost`.',
    on: 'process',
    value: ({ run }) => run && errorTypeOf(run),
  },
  'celery.task.args': {
    description: 'Its positional arguments, where they are wanted (`arguments`).',
    on: 'both',
    value: ({ run, sent }, surroundings) => optional(run?.args ?? sent?.args, surroundings),
  },
  'celery.task.kwargs': {
    description: 'Its keyword arguments, where they are wanted (`arguments`).',
    on: 'both',
    value: ({ run, sent }, surroundings) => optional(run?.kwargs ?? sent?.kwargs, surroundings),
  },
  'celery.task.result': {
    description: 'What it returned, where it is wanted (`arguments`).',
    on: 'process',
    value: ({ run }, surroundings) => optional(run?.result, surroundings),
  },
};

function optional(text: string | undefined, { settings, redaction }: Surroundings): string | undefined {
  return settings.arguments && text ? redaction.text(text) : undefined;
}

function isoTime(ms: number | undefined): string | undefined {
  return ms !== undefined && ms >= 0 && ms < YEAR_10000_MS ? new Date(ms).toISOString() : undefined;
}
