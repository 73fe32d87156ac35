/** A session at a real RabbitMQ with the time that it has listened, and what it was told about publishing. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAmqpTransport } from '../../../src/broker/amqp/transport.ts';
import { ListeningClock } from '../../../src/broker/session/listening-clock.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { Log } from '../log.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { AMQP } from './amqp-transport.ts';

export async function listenTold(t: TestContext, url: string) {
  const transport = createAmqpTransport(AMQP, new ListeningClock());
  const failures = new Log<string>();
  const session = observeSession(t, transport, {
    url: addressOf(url),
    onPublishing: (kind, reason) => failures.add(`${kind}: ${reason}`),
  });
  await session.ready();
  /** How much listened time passes in so many seconds. */
  const listenedMsIn = async (s: number): Promise<number> => {
    const beforeMs = transport.listenedMs();
    await delay(s * 1000);
    return transport.listenedMs() - beforeMs;
  };
  /** Waits for so much more listened time. */
  const listens = async (ms: number): Promise<void> => {
    const beforeMs = transport.listenedMs();
    const endMs = performance.now() + DEADLINE_MS;
    while (transport.listenedMs() - beforeMs <= ms) {
      assert.ok(
        performance.now() < endMs,
        `it has listened for ${transport.listenedMs() - beforeMs} ms only`,
      );
      await delay(50);
    }
  };
  return { ...session, failures, listens, listenedMsIn };
}
