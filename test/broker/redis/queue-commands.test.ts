/** What a poll sends to Redis and reads in its answers. Celery’s own keys: queue-poll.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bindingCommands,
  bindingsOf,
  depthsOf,
  failureIn,
  isInPart,
  lengthCommands,
  type PollKeys,
  type Reply,
  searchResult,
  unackedCommands,
  unackedOf,
} from '../../../src/broker/redis/queue-commands.ts';
import { fc } from '../../seed.ts';
import { POLL_KEYS } from '../poll-keys.ts';

const KEYS: PollKeys = { ...POLL_KEYS, prefix: '' };
const values = (...given: readonly unknown[]): readonly Reply[] => given.map((value) => ({ value }));

test('every command only reads, and only keys with documented names', () => {
  const text = fc.string({ minLength: 1, maxLength: 8, unit: 'binary' });
  const settings = fc.record({
    prefix: fc.string({ maxLength: 8, unit: fc.constantFrom('a', ':', '*', '?', '[', ']', '\\', '^') }),
    separator: text,
    prioritySteps: fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 1 }),
    unackedKey: text,
    unackedIndexKey: text,
    visibilityTimeoutMs: fc.integer({ min: 1, max: 1e9 }),
  });
  fc.assert(
    fc.property(
      settings,
      fc.array(text),
      fc.array(text),
      fc.option(fc.constant('17')),
      fc.boolean(),
      (keys, queues, exchanges, cursor, inPart) => {
        const { prefix, separator, prioritySteps } = keys;
        const lists = queues.flatMap((queue) =>
          prioritySteps.map((step) => prefix + (step === 0 ? queue : queue + separator + step)),
        );
        const commands = [
          ...lengthCommands(queues, keys),
          ...unackedCommands(keys),
          ...bindingCommands(exchanges, cursor ?? undefined, keys, inPart),
        ];
        const search =
          cursor === null ? [] : [['scan', '17', 'MATCH', commands.at(-1)?.[3], 'COUNT', '5000']];
        assert.deepEqual(commands, [
          ...lists.map((key) => ['llen', key]),
          ['hlen', prefix + keys.unackedKey],
          ['zrange', prefix + keys.unackedIndexKey, '0', '999', 'WITHSCORES'],
          ...exchanges.map((exchange) => {
            const key = `${prefix}_kombu.binding.${exchange}`;
            return inPart ? ['sscan', key, '0', 'COUNT', '1000'] : ['smembers', key];
          }),
          ...search,
        ]);
        if (cursor !== null) {
          // In a pattern, each special character of the prefix stands for itself.
          const pattern = String(commands.at(-1)?.[3]);
          assert.ok(pattern.endsWith('_kombu.binding.*'));
          assert.equal(
            pattern.slice(0, -'_kombu.binding.*'.length).replaceAll(/\\([\\*?[\]])/gu, '$1'),
            prefix,
          );
        }
      },
    ),
  );
});

test('a depth is the sum over its priorities; what is no list is no queue', () => {
  const wrong: Reply = { error: 'WRONGTYPE Operation against a key holding the wrong kind of value' };
  const replies = [...values(5, 0, 2, 1), ...values(0, 0, 0, 0), ...values(1, 2, 3), wrong];
  assert.deepEqual(depthsOf(['orders', 'empty', 'unacked'], replies, KEYS), [
    {
      queue: 'orders',
      length: 8,
      byPriority: [
        [0, 5],
        [3, 0],
        [6, 2],
        [9, 1],
      ],
    },
    {
      queue: 'empty',
      length: 0,
      byPriority: [
        [0, 0],
        [3, 0],
        [6, 0],
        [9, 0],
      ],
    },
  ]);
  assert.equal(failureIn(values(1, 2)), undefined);
  assert.match(failureIn(replies) ?? '', /^WRONGTYPE/u);
});

test('unacknowledged messages have an age by the time of their delivery, however odd it is', () => {
  const nowMs = 1_800_000_000_000;
  const at = (agoS: number) => String(nowMs / 1000 - agoS);
  const read = (...index: readonly string[]) => unackedOf(values(index.length / 2, index), KEYS, nowMs);
  assert.deepEqual(read(), { count: 0, oldestAgeS: 0, expiring: 0, visibilityTimeoutS: 3600 });
  assert.deepEqual(read('a', at(2880), 'b', at(2879), 'c', at(10)), {
    ...{ count: 3, expiring: 1, oldestAgeS: 2880, visibilityTimeoutS: 3600 },
  });
  // Of a worker whose clock is ahead, or of nobody.
  assert.deepEqual(read('a', at(-5), 'b', 'inf', 'c', 'nan', 'd', '-1.7e308')?.oldestAgeS, 0);
  assert.equal(unackedOf([{ error: 'NOPERM' }, { value: [] }], KEYS, nowMs), undefined);
  assert.equal(unackedOf([{ value: 1 }, { error: 'WRONGTYPE' }], KEYS, nowMs), undefined);
});

test('bindings name queues; malformed ones and Celery’s own queues do not', () => {
  const sep = KEYS.separator;
  const members = ['orders', 'celeryev.1', 'w1.celery.pidbox'].map((queue) => `${sep}${sep}${queue}`);
  const odd = [`key${sep}p${sep}mails`, 'broken', `a${sep}b${sep}c${sep}d`, 5];
  assert.deepEqual(bindingsOf({ value: [...members, ...odd] }, KEYS), [
    { routingKey: '', isTopic: false, queue: 'orders' },
    { routingKey: 'key', isTopic: true, queue: 'mails' },
  ]);
  // As sscan answers.
  assert.deepEqual(
    bindingsOf({ value: ['0', [`a${sep}${sep}orders`, `b${sep}${sep}${'x'.repeat(256)}`]] }, KEYS),
    [{ routingKey: 'a', isTopic: false, queue: 'orders' }],
  );
  const portion = (cursor: string) => isInPart({ value: [cursor, []] });
  assert.deepEqual([portion('0'), portion('7'), isInPart({ value: ['a', 'b'] })], [false, true, false]);
  assert.deepEqual(bindingsOf({ error: 'NOPERM' }, KEYS), []);
  assert.deepEqual(bindingsOf(undefined, KEYS), []);
  const keys = { ...KEYS, prefix: 'p:' };
  assert.deepEqual(
    searchResult({ value: ['7', ['p:_kombu.binding.shop', 'p:_kombu.binding.reply.celery.pidbox']] }, keys),
    {
      ...{ cursor: '7', exchanges: ['shop'] },
    },
  );
  assert.deepEqual(searchResult({ error: 'NOPERM' }, keys), { cursor: undefined, exchanges: [] });
});
