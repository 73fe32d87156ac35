/** A service that listens until the test ends, and asks its broker only when the test says so. */
import assert from 'node:assert/strict';
import type { Session } from '../../src/broker/broker.ts';
import { parseBrokerUrls } from '../../src/broker/broker-url.ts';
import { listen } from '../../src/broker/session/session-loop.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { DEADLINE_MS } from '../deadline.ts';
import type { Ending } from '../e2e/bridge-process.ts';
import { SETTINGS } from './broker-settings.ts';
import { Log } from './log.ts';
import { POLL_KEYS, QUESTION } from './poll-keys.ts';

/** What has a connection of its own. */
export const PARTS = ['polls', 'control', 'instances'] as const;
export type Part = (typeof PARTS)[number];

const QUESTION_MS = 200;
/** An answer that never comes is given up. */
const PATIENCE_MS = 2000;

export function attend(t: Ending, url: string, connectTimeoutMs = DEADLINE_MS / 4) {
  const parsed = parseBrokerUrls(url);
  assert.ok(parsed.ok);
  const reported = new Log<SelfEvent>();
  const bodies = new Log<string>();
  const stopping = new AbortController();
  let session: Session | undefined;
  const listener = listen({
    ...SETTINGS,
    redis: { ...SETTINGS.redis, masterName: 'shop' },
    ...{ urls: parsed.urls, service: 'shop', connectTimeoutMs, bodyBytesMax: 2_097_152 },
    ...{ random: () => 1, signal: stopping.signal },
    deliver: ({ body }) => bodies.add(String(body)),
    report: (event) => reported.add(event),
    during: (opened) => {
      session = opened;
      return () => {
        session = undefined;
      };
    },
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    assert.equal(await listener.done, 'stopped');
  };
  t.after(stop);
  return {
    listener,
    reported,
    bodies,
    stop,
    /** Resolves once it has connected after so many sessions and attempts ended. */
    connected: (after = 0) =>
      reported.find(({ kind }) => kind === 'broker-connected' && ends(reported).length >= after),
    ends: () => ends(reported),
    isOpen: () => session !== undefined,
    /** Asks over the connection of that part. @throws if that fails */
    ask(part: Part): Promise<unknown> {
      if (session === undefined) return Promise.reject(new Error('there is no session'));
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const redis = { owner: 'test', separator: undefined };
      switch (part) {
        case 'polls':
          return (
            session.poll?.(
              { ...QUESTION, queues: ['celery'], redis: { ...POLL_KEYS, separator: undefined } },
              signal,
            ) ?? Promise.reject(new Error('it cannot be polled'))
          );
        case 'control':
          return (
            session.ask?.(
              {
                ...{ command: 'ping', namespace: 'celery', redis, timeoutMs: QUESTION_MS },
                take: () => true,
              },
              signal,
            ) ?? Promise.reject(new Error('it cannot ask'))
          );
        case 'instances':
          return session.instances?.(signal) ?? Promise.resolve();
      }
    },
  };
}

function ends({ items }: Log<SelfEvent>): readonly SelfEvent<'broker-session-ended'>[] {
  return items.filter((event) => event.kind === 'broker-session-ended');
}
