/** A long fuzz of both protocols, with the bytes of real servers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { event, publish } from '../e2e/publish.ts';
import { BROKER_NAMES, borrowBroker } from '../real/brokers.ts';
import { SEED } from '../seed.ts';
import { fuzz } from './fuzz.ts';
import { AMQP_TOKENS, REDIS_TOKENS } from './malformed-bytes.ts';

const SESSIONS = 1000;

for (const name of BROKER_NAMES) {
  test(`${SESSIONS} sessions with changed bytes of ${name} end themselves, and nothing else`, async (t) => {
    const broker = await borrowBroker(name);
    t.after(() => broker.remove());
    const { url } = broker;
    const { port } = new URL(url);
    let publishing: Promise<unknown> | undefined;
    const ends = await fuzz(
      t,
      {
        port: Number(port),
        urlAt: (at) => url.replace(`:${port}`, `:${at}`),
        tokens: name === 'Redis' ? REDIS_TOKENS : AMQP_TOKENS,
        publish() {
          publishing ??= publish(url, [event('task-sent')]).finally(() => {
            publishing = undefined;
          });
        },
      },
      { sessions: SESSIONS, seed: SEED },
    );
    await publishing;
    assert.ok((ends.get('malformed') ?? 0) > 0);
    t.diagnostic(`how they ended: ${JSON.stringify(Object.fromEntries(ends))}`);
  });
}
