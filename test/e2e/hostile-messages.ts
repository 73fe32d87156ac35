/**
 * Generates messages that no Celery sends, from a seed, each with its expected reason, which follows from how it was
 * made, not from the tested code.
 */
import { randomBytes } from 'node:crypto';
import { deflateSync, zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import type { RejectionReason } from '../../src/celery/rejection.ts';
import { type EventFields, event, type RawPublish } from './publish.ts';
import { type Random, seeded } from './seeded.ts';

const JSON_TYPE = { contentType: 'application/json', contentEncoding: 'utf-8' } as const;

type Make = (random: Random, index: number) => RawPublish;

/** The reason that no message has by itself: it depends on those before. */
export const TOO_COSTLY = 'decompression-too-costly' satisfies RejectionReason;

/** Not what its header says. */
export const CORRUPT: RawPublish = { ...json('{}'), headers: { compression: 'application/x-gzip' } };

/** For each other reason the kinds of messages that have it. */
const MAKERS: Readonly<Record<Exclude<RejectionReason, typeof TOO_COSTLY>, readonly Make[]>> = {
  'empty-batch': [() => json('[]'), () => json(' [ ] ')],
  'unknown-type': [
    (random) => of(event('task-sent', { type: `custom-${word(random)}` })),
    () => of(event('constructor')),
    () => of(event('__proto__')),
    () => of({ ...event('task-sent'), type: 'x'.repeat(20_000) }),
  ],
  'undecodable-headers': [
    (random) => ({ ...of(event('task-sent')), headers: nested(65 + Math.floor(random() * 1000)) }),
  ],
  'body-too-large': [
    () => json(' '.repeat(BODY_LIMITS.body.max + 1)),
    () => ({ ...json(''), body: large, headers: { compression: 'application/x-gzip' } }),
  ],
  'expands-too-far': [
    // A few bytes that would expand to fill the memory.
    () => ({ ...json(''), body: bomb, headers: { compression: 'application/x-gzip' } }),
    () => ({ ...json(''), body: zstdBomb, headers: { compression: 'application/zstd' } }),
  ],
  'nested-too-deep': [() => json('['.repeat(BODY_LIMITS.unscanned.max + 1))],
  'too-many-tokens': [() => json(`[${'{},'.repeat(BODY_LIMITS.unscanned.max)}{}]`)],
  'name-too-long': [(random) => json(`{"${word(random).padStart(20_000)}":0}`)],
  'batch-too-long': [() => json(`[${'0,'.repeat(10_000)}0]`)],
  'unsafe-serializer': [
    (random) => ({ ...json(word(random)), contentType: 'application/x-python-serialize' }),
    () => ({
      ...json('\x80\x04K\x01.'),
      contentType: 'application/x-python-serialize',
      contentEncoding: 'binary',
    }),
  ],
  'unsupported-serializer': [
    () => ({ ...json('type: task-sent'), contentType: 'application/x-yaml' }),
    (random) => ({ ...json('{}'), contentType: `application/${word(random)}` }),
    () => ({ routingKey: 'task.sent', body: Buffer.from('{}') }),
  ],
  'unsupported-encoding': [(random) => ({ ...json('{}'), contentEncoding: `koi8-${word(random)}` })],
  'unsupported-compression': [
    () => ({ ...json('{}'), headers: { compression: 'application/x-bz2' } }),
    () => ({ ...json('{}'), headers: { compression: { nested: ['deeply'] } } }),
  ],
  'corrupt-compression': [() => CORRUPT],
  'invalid-text': [() => ({ ...json(''), body: Buffer.from([0x22, 0xff, 0xfe, 0x22]) })],
  'invalid-json': [
    () => json(''),
    () => json('{"type": "task-sent",'),
    () => json('[NaN, Infinity,]'),
    (random) => json(`{${word(random)}}`),
    () => json('['.repeat(10_000)),
  ],
  'not-an-event': [
    () => json('null'),
    () => json('42'),
    () => json('"task-sent"'),
    () => json('true'),
    () => json('[[]]'),
  ],
  'missing-type': [
    () => json('{}'),
    () => json('{"type": 7}'),
    () => json('{"__proto__": {"type": "task-sent"}}'),
  ],
  'missing-hostname': [
    () => of(event('task-sent', { hostname: null })),
    () => of(event('worker-heartbeat', { hostname: { name: 'w1' } })),
    () => of(event('task-started', { hostname: '' })),
  ],
  'missing-uuid': [
    () => of(event('task-started', { uuid: undefined })),
    () => of(event('task-sent', { uuid: 17 })),
    () => of(event('task-sent', { uuid: 'u'.repeat(10_000) })),
  ],
  'bad-timestamp': [
    () => of(event('task-sent', { timestamp: 'yesterday' })),
    () => of(event('worker-heartbeat', { timestamp: -1 })),
    () => of(event('task-sent', { timestamp: Date.now() })),
    () => json(JSON.stringify(event('task-sent')).replace(/"timestamp":[\d.]+/u, '"timestamp":NaN')),
  ],
};

const bomb = deflateSync(Buffer.alloc(8 * 1024 * 1024));
const zstdBomb = zstdCompressSync(Buffer.alloc(8 * 1024 * 1024));
/** Text that no compression makes much smaller, so that it is too large and no bomb. */
const large = deflateSync(Buffer.from(randomBytes(BODY_LIMITS.body.max).toString('hex')), { level: 1 });

/** There are few of these, since they fill the broker's queue, cost time, or use up that for decompression. */
const RARE: ReadonlySet<string> = new Set<RejectionReason>([
  'body-too-large',
  'expands-too-far',
  'corrupt-compression',
  'nested-too-deep',
  'too-many-tokens',
  'batch-too-long',
]);

/** Any of them, with its expected reason. */
export function hostileMessage(random: Random, index: number): { reason: string; message: RawPublish } {
  const reasons = Object.entries(MAKERS);
  let [reason, makers] = pick(random, reasons);
  while (RARE.has(reason) && random() > 0.01) [reason, makers] = pick(random, reasons);
  return { reason, message: pick(random, makers)(random, index) };
}

export function hostileMessages(
  seed: number,
  count: number,
): { messages: readonly RawPublish[]; expected: Readonly<Record<string, number>> } {
  const random = seeded(seed);
  const expected = new Map<string, number>(Object.keys(MAKERS).map((reason) => [reason, 0]));
  const messages = Array.from({ length: count }, (_, index) => {
    const { reason, message } = hostileMessage(random, index);
    expected.set(reason, (expected.get(reason) ?? 0) + 1);
    return message;
  });
  return { messages, expected: Object.fromEntries(expected) };
}

export function json(body: string): RawPublish {
  return { routingKey: 'task.multi', body: Buffer.from(body), ...JSON_TYPE };
}

function of(fields: EventFields): RawPublish {
  return json(JSON.stringify(fields));
}

/** Tables so many levels deep. */
function nested(levels: number): Readonly<Record<string, unknown>> {
  let table: Readonly<Record<string, unknown>> = {};
  for (let level = 1; level < levels; level += 1) table = { table };
  return table;
}

function word(random: Random): string {
  return Math.floor(random() * 2 ** 32).toString(36);
}

export function pick<T>(random: Random, from: readonly T[]): T {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new RangeError('nothing to pick from');
  return found;
}
