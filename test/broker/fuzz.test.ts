/** A short fuzz of both protocols, with what servers send that answer as the real ones do. `fuzz.limits.ts` has real ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEED } from '../seed.ts';
import { content } from './amqp/frames.ts';
import { deliver, startScriptedBroker } from './amqp/scripted-broker.ts';
import { fuzz } from './fuzz.ts';
import { AMQP_TOKENS, REDIS_TOKENS } from './malformed-bytes.ts';
import { published, startScriptedRedis } from './redis/scripted-redis.ts';

const SESSIONS = 60;

test('changed bytes of Redis end sessions, and nothing else', async (t) => {
  const { port, publish } = await startScriptedRedis(t);
  const ends = await fuzz(
    t,
    {
      port,
      urlAt: (at) => `redis://127.0.0.1:${at}/0`,
      tokens: REDIS_TOKENS,
      publish: () => publish(published('/0.celeryev/task.sent', '{}')),
    },
    { sessions: SESSIONS, seed: SEED },
  );
  assert.ok((ends.get('malformed') ?? 0) > 0, `how they ended: ${[...ends].join(' ')}`);
});

test('changed bytes of RabbitMQ end sessions, and nothing else', async (t) => {
  const { url, send } = await startScriptedBroker(t);
  const ends = await fuzz(
    t,
    {
      port: Number(new URL(url).port),
      urlAt: (at) => `amqp://127.0.0.1:${at}`,
      tokens: AMQP_TOKENS,
      publish: () => send(deliver(content(1, Buffer.alloc(0), Buffer.from('{}')))),
    },
    { sessions: SESSIONS, seed: SEED },
  );
  assert.ok((ends.get('malformed') ?? 0) > 0, `how they ended: ${[...ends].join(' ')}`);
});
