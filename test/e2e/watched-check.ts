/**
 * Behind a relay, a test sees what a `check` asks, and so how far it has got, however slow the machine is: a check itself prints nothing
 * before it ends.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Relay, startRelay } from '../broker/relay.ts';
import { DEADLINE_MS } from '../deadline.ts';
import type { BrokerName } from '../real/brokers.ts';

/** Between two questions of a check. */
export const ROUND_MS = 2000;
/** In what a check sends when it has begun to listen, and to look at queues. */
const LAST_SENT: Readonly<Record<BrokerName, string>> = { RabbitMQ: 'celeryev', Redis: 'llen' };
/** In what it sends when it asks: each time at once, of the queues on Redis, and of the workers on RabbitMQ. */
const SENT_IN_EACH_ROUND: Readonly<Record<BrokerName, string>> = { RabbitMQ: 'pidbox', Redis: 'llen' };

export interface Watching {
  /** For the check, instead of the broker’s own. */
  readonly url: string;
  readonly relay: Relay;
  /** Resolves once it listens. */
  listens(): Promise<void>;
  /** Resolves once it has asked so many times more. */
  asked(times: number): Promise<void>;
  /** Resolves once it has what it learns when it begins to listen. */
  begun(): Promise<void>;
}

/** To be called before the check is started. @param broker its URL, with a port */
export async function watchCheck(t: TestContext, broker: string): Promise<Watching> {
  const relay = await startRelay(t, Number(new URL(broker).port));
  const name = broker.startsWith('redis') ? 'Redis' : 'RabbitMQ';
  const listens = relay.hasSent(LAST_SENT[name]);
  const asked = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      await within(`question ${time + 1} of ${times}`, relay.hasSent(SENT_IN_EACH_ROUND[name]));
      // A question may be sent in several pieces.
      await delay(ROUND_MS / 4);
    }
  };
  return {
    url: broker.replace(/:\d+\//u, `:${relay.port}/`),
    relay,
    listens: () => within('it listens', listens),
    asked,
    async begun() {
      await asked(1);
      // When it asks again, it has the answers. On RabbitMQ, it does not if there is no worker.
      await (name === 'Redis' ? asked(1) : delay(ROUND_MS));
    },
  };
}

async function within(what: string, promise: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  const end = delay(DEADLINE_MS, undefined, { signal: late.signal });
  await Promise.race([
    promise,
    end.then(
      () => assert.fail(`${what}: not within ${DEADLINE_MS} ms`),
      () => undefined,
    ),
  ]);
  late.abort();
}
