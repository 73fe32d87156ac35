/**
 * Generates hostile messages of all kinds from a seed, each with how it must be counted. That follows from how a
 * message was made, not from the tested code. It publishes nothing.
 */
import { brotliCompressSync, constants, deflateSync, zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { field, longInteger, nestedArrays, nestedTables } from '../broker/amqp/frames.ts';
import { HOSTILE } from '../hostile-text.ts';
import { hostileMessage, json, pick } from './hostile-messages.ts';
import type { EventFields, RawPublish } from './publish.ts';
import type { Random } from './seeded.ts';

export interface CampaignMessage {
  readonly kind: string;
  /** Headers as raw bytes that no library would write. */
  readonly message: RawPublish | { readonly headerBytes: Buffer; readonly event: object };
  /** `dropped <reason>`, `implausible <field>`, `events <type>` and metric names; once for each count. */
  readonly counted: readonly string[];
}

/** The context for making a message. */
interface Making {
  readonly random: Random;
  /** No two messages have the same. */
  readonly index: number;
  /** s since 1970. */
  readonly nowS: number;
}

type Make = (making: Making) => Omit<CampaignMessage, 'kind'>;

const TASK_TYPES = ['sent', 'received', 'started', 'succeeded', 'failed', 'retried', 'rejected', 'revoked'];
const TYPES = [...TASK_TYPES.map((type) => `task-${type}`), 'worker-online', 'worker-heartbeat'];
/** As many as a list may have. */
const LIST = BODY_LIMITS.batch.max;
const BOMB_BYTES = 8 * 1024 * 1024;
const HUGE_BODY = Buffer.alloc(8 * 1024 * 1024, ' ');
const BOMBS = ['['.repeat(BOMB_BYTES), `[${'{},'.repeat(BOMB_BYTES / 3)}{}]`].flatMap((text) => [
  { body: zstdCompressSync(text), headers: { compression: 'application/zstd' } },
  { body: deflateSync(text), headers: { compression: 'application/x-gzip' } },
  {
    body: brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    headers: { compression: 'application/x-brotli' },
  },
]);
/** Below the size from which the structure is checked. */
const WIDE_BYTES = 15_000;
const NAMES = [HOSTILE, '__proto__', 'constructor', '支払い', 'x'.repeat(5000), '\ud800', '<b>"\'\\', ''];
const YEARS_S = [1, 4711, 4_102_444_800, 9_999_999_999];
const MOMENTS = ['0001-01-01T00:00:00', '9999-12-31T23:59:59.999999+00:00', '1970-01-01T00:00:00Z'];

/** Types that have the field, and a value that is never plausible in it. */
const WRONG_FIELDS: readonly (readonly [
  field: string,
  types: readonly string[],
  values: readonly unknown[],
])[] = [
  ['pid', TYPES, ['x', -1, 2.5, [], {}, true]],
  ['clock', TYPES, ['x', -1, 2 ** 60, {}]],
  ['retries', ['task-sent', 'task-received'], [-1, 1e20, '3', []]],
  ['eta', ['task-sent', 'task-received'], ['soon', 7, [], '99999-01-01T00:00:00']],
  ['expires', ['task-sent', 'task-received'], ['never', true, {}]],
  ['runtime', ['task-succeeded'], [-1, 1e300, '1', []]],
  ['active', ['worker-heartbeat'], ['7', -1, 1e20, 0.5]],
  ['processed', ['worker-heartbeat'], [1e20, -1, 'many']],
  ['loadavg', ['worker-heartbeat'], [[1], 'high', [1, 2, '3'], [1, 2, -3]]],
];

/** The number of each kind per hundred thousand messages, and how it is made. */
const KINDS: Readonly<Record<string, readonly [share: number, make: Make]>> = {
  'what is rejected': [
    30_000,
    ({ random, index }) => {
      const { reason, message } = hostileMessage(random, index);
      return { message, counted: [`dropped ${reason}`] };
    },
  ],
  'headers that cannot be decoded': [
    1000,
    (making) => {
      const nested = pick(making.random, [nestedArrays, nestedTables])(
        65 + Math.floor(making.random() * 1000),
      );
      const event = eventOf('task-sent', making);
      return {
        message: { headerBytes: field('k', nested), event },
        counted: ['dropped undecodable-headers'],
      };
    },
  ],
  'headers with a long integer': [
    500,
    (making) => {
      const event = eventOf('task-sent', making);
      return {
        message: { headerBytes: field('build', longInteger(2n ** 40n)), event },
        counted: countedAs(event.type),
      };
    },
  ],
  bombs: [
    200,
    ({ random }) => ({
      message: { ...json(''), ...pick(random, BOMBS) },
      counted: ['dropped expands-too-far'],
    }),
  ],
  'bodies of megabytes': [
    10,
    () => ({ message: { ...json(''), body: HUGE_BODY }, counted: ['dropped body-too-large'] }),
  ],
  'deep and wide bodies': [
    200,
    ({ random }) =>
      pick(random, [
        () => ({ message: json('['.repeat(WIDE_BYTES)), counted: ['dropped invalid-json'] }),
        () => {
          const half = WIDE_BYTES / 2;
          return {
            message: json('['.repeat(half) + ']'.repeat(half)),
            counted: ['dropped not-an-event'],
          };
        },
        () => {
          const levels = WIDE_BYTES / 6;
          return {
            message: json(`${'{"":'.repeat(levels)}1${'}'.repeat(levels)}`),
            counted: ['dropped missing-type'],
          };
        },
        () => {
          const names = Array.from({ length: WIDE_BYTES / 10 }, (_, at) => `"${at}":1`);
          return { message: json(`{${names.join(',')}}`), counted: ['dropped missing-type'] };
        },
        () => ({
          message: json(`[${'{},'.repeat(LIST - 1)}{}]`),
          counted: Array(LIST).fill('dropped missing-type'),
        }),
      ])(),
  ],
  'long lists': [
    50,
    () => ({
      message: json(`[${'{"type":"x"},'.repeat(LIST - 1)}{"type":"x"}]`),
      counted: Array(LIST).fill('dropped unknown-type'),
    }),
  ],
  'fields of wrong types': [
    10_000,
    (making) => {
      const [name, types, values] = pick(making.random, WRONG_FIELDS);
      const fields = { [name]: pick(making.random, values) };
      return telling(eventOf(pick(making.random, types), making, fields), `implausible ${name}`);
    },
  ],
  'clocks that are years off': [
    8000,
    (making) => {
      const timestamp = pick(making.random, YEARS_S) + (making.index % 1000);
      const event = eventOf(pick(making.random, TYPES), making, {
        timestamp: Math.min(timestamp, 9_999_999_999),
        hostname: `dead${making.index % 50}@clock`,
      });
      return telling(event, 'implausible timestamp');
    },
  ],
  'an ETA or an end in another age': [
    4000,
    (making) => {
      const type = pick(making.random, ['task-sent', 'task-received']);
      const [eta, expires] = [pick(making.random, MOMENTS), pick(making.random, MOMENTS)];
      return telling(eventOf(type, making, { eta, expires, name: 'enemy.eta' }));
    },
  ],
  'hostile names': [
    4000,
    (making) => {
      const name = pick(making.random, NAMES);
      const hostname = `${pick(making.random, NAMES)}@${making.index % 100}`;
      const type = pick(making.random, TYPES);
      return telling(eventOf(type, making, { name, queue: name, routing_key: name, hostname }));
    },
  ],
  'sendings without a run': [
    14_000,
    (making) => telling(eventOf('task-sent', making, { name: 'enemy.poison', queue: 'q'.repeat(250) })),
  ],
  'workers that nobody knows': [
    14_000,
    (making) => {
      const hostname = `w${making.index}@${'h'.repeat(200)}`;
      const texts = { sw_ver: 'v'.repeat(250), sw_sys: `${making.index}`.padEnd(250, 's') };
      return telling(eventOf('worker-heartbeat', making, { hostname, pid: 1 + making.index, ...texts }));
    },
  ],
  'processes of one worker': [
    2000,
    (making) => {
      const fields = { hostname: `crowd${making.index % 20}@host`, pid: 1 + making.index };
      return telling(eventOf('worker-heartbeat', making, fields));
    },
  ],
  'tasks that nobody knows': [
    8000,
    (making) => telling(eventOf('task-received', making, { name: `enemy.${making.index}` })),
  ],
  'events that repeat': [
    1000,
    (making) => {
      const event = eventOf(
        pick(
          making.random,
          TASK_TYPES.map((type) => `task-${type}`),
        ),
        making,
      );
      const [counted = '', ...metrics] = countedAs(event.type);
      return { message: listOf([event, event, event]), counted: [counted, counted, counted, ...metrics] };
    },
  ],
  'runs of one task, and of one process': [
    2000,
    (making) => {
      const type = pick(making.random, ['task-received', 'task-started']);
      const uuid = type === 'task-received' ? `many-${making.index % 3}` : `one-${making.index}`;
      return telling(eventOf(type, making, { uuid, hostname: 'busy@host', clock: making.index }));
    },
  ],
  'events in disorder': [
    1000,
    (making) => {
      const types = ['task-succeeded', 'task-started', 'task-received'];
      const events = types.map((type, at) =>
        eventOf(type, making, { clock: 9 - at, timestamp: making.nowS - at / 100 }),
      );
      return { message: listOf(events), counted: types.flatMap(countedAs) };
    },
  ],
};

const SHARES = Object.entries(KINDS).map(([kind, [share, make]]) => ({ kind, share, make }));
const ALL_SHARES = SHARES.reduce((sum, { share }) => sum + share, 0);

export const CAMPAIGN_KINDS: readonly string[] = Object.keys(KINDS);

/** The next message; of a given kind, or of any kind by weight. */
export function campaignMessage(making: Making, only?: string): CampaignMessage {
  let at = making.random() * ALL_SHARES;
  const found =
    SHARES.find(({ kind }) => kind === only) ??
    SHARES.find(({ share }) => {
      at -= share;
      return at < 0;
    });
  if (found === undefined) throw new RangeError('nothing to make');
  return { kind: found.kind, ...found.make(making) };
}

/** A valid event of its own task. */
export function eventOf(
  type: string,
  { index, nowS }: Pick<Making, 'index' | 'nowS'>,
  over: Readonly<Record<string, unknown>> = {},
): EventFields {
  const common = { type, hostname: 'enemy@host', pid: 666, clock: index, utcoffset: 0, timestamp: nowS };
  const task = { uuid: `enemy-${index}`, name: 'enemy.any', queue: 'enemy', retries: 0 };
  return type.startsWith('worker-') ? { ...common, ...over } : { ...common, ...task, ...over };
}

export function countedAs(type: string): readonly string[] {
  const metric = type.startsWith('task-') ? [`celery.task.${type.slice(5)}`] : [];
  return [`events ${type}`, ...metric];
}

export function listOf(events: readonly EventFields[]): RawPublish {
  return json(JSON.stringify(events));
}

function telling(event: EventFields, ...more: readonly string[]): Omit<CampaignMessage, 'kind'> {
  return { message: json(JSON.stringify(event)), counted: [...countedAs(event.type), ...more] };
}
