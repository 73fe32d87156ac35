/** Listens to real brokers through every outage, until the end of the test. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { RawMessage } from '../../../src/broker/broker.ts';
import { parseBrokerUrls } from '../../../src/broker/broker-url.ts';
import { listen } from '../../../src/broker/session/session-loop.ts';
import type { SelfEvent } from '../../../src/self/self-event.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { SETTINGS } from '../broker-settings.ts';
import { Log } from '../log.ts';

/** A broker that goes away during the handshake may leave a connection without an end, so there is time for several. */
const CONNECT_MS = DEADLINE_MS / 4;

export function listenTo(t: TestContext, addresses: string) {
  const parsed = parseBrokerUrls(addresses);
  assert.ok(parsed.ok);
  const reported = new Log<SelfEvent>();
  const bodies = new Log<string>();
  const stopping = new AbortController();
  const listener = listen({
    ...SETTINGS,
    ...{ connectTimeoutMs: CONNECT_MS, bodyBytesMax: 2_097_152 },
    urls: parsed.urls,
    service: 'shop',
    deliver: (message: RawMessage) => bodies.add(String(message.body)),
    report: (event) => reported.add(event),
    random: Math.random,
    signal: stopping.signal,
  });
  t.after(async () => {
    stopping.abort();
    assert.equal(await listener.done, 'stopped');
  });
  /** Resolves once it has connected for the nth time. */
  const connected = (times: number) =>
    reported.find(() => reported.items.filter((event) => event.kind === 'broker-connected').length >= times);
  return { listener, reported, bodies, connected };
}
