/** A short fuzz of both protocols, with what servers send that answer as the real ones do. `fuzz.limits.ts` has real ones. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SEED } from '../seed.ts';
import { content } from './amqp/frames.ts';
import { deliver, startScriptedBroker } from './amqp/scripted-broker.ts';
import { type Fuzzed, fuzz } from './fuzz.ts';
import { AMQP_TOKENS, REDIS_TOKENS } from './malformed-bytes.ts';
import { published, startScriptedRedis } from './redis/scripted-redis.ts';

const SESSIONS = 60;

const SERVERS: Readonly<Record<string, (t: TestContext) => Promise<Fuzzed>>> = {
  async Redis(t) {
    const { port, publish } = await startScriptedRedis(t);
    return {
      ...{ port, tokens: REDIS_TOKENS, urlAt: (at) => `redis://127.0.0.1:${at}/0` },
      publish: () => publish(published('/0.celeryev/task.sent', '{}')),
    };
  },
  async RabbitMQ(t) {
    const { url, send } = await startScriptedBroker(t);
    return {
      ...{ port: Number(new URL(url).port), tokens: AMQP_TOKENS, urlAt: (at) => `amqp://127.0.0.1:${at}` },
      publish: () => send(deliver(content(1, Buffer.alloc(0), Buffer.from('{}')))),
    };
  },
};

for (const [name, start] of Object.entries(SERVERS)) {
  test(`changed bytes of ${name} end sessions, and nothing else`, async (t) => {
    const ends = await fuzz(t, await start(t), { sessions: SESSIONS, seed: SEED });
    assert.ok((ends.get('malformed') ?? 0) > 0, `how they ended: ${[...ends].join(' ')}`);
  });
}
