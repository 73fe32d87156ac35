/** Failures of polls and questions are told with their cause, and all else of a session stays as it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session } from '../../../src/broker/broker.ts';
import { explainedSession } from '../../../src/broker/session/explained-session.ts';
import { createPeerText } from '../../../src/text/peer-text.ts';
import { addressOf } from '../observed-session.ts';
import { QUESTION } from '../poll-keys.ts';

const url = addressOf('amqp://h');
const { signal } = new AbortController();
const receive: Session['receive'] = () => new Promise(() => {});
const LIMIT = "NOT_ALLOWED - access to vhost '/' refused for user 'u': connection limit (1) is reached";

test('a refusal of a connection beside that of the events has its cause and remedy', async () => {
  const refuse = () => Promise.reject(new Error(LIMIT));
  const { poll, ask } = explainedSession({ receive, poll: refuse, ask: refuse }, url, createPeerText([]));
  const reported =
    /^Error: the user or the virtual host has reached its connection limit: raise .*\(NOT_ALLOWED/u;
  await assert.rejects(poll?.({ ...QUESTION, queues: [] }, signal) ?? assert.fail(), reported);
  const question = { command: 'ping', namespace: 'celery', timeoutMs: 1, take: () => true } as const;
  const redis = { owner: 'shop', separator: undefined };
  await assert.rejects(ask?.({ ...question, redis }, signal) ?? assert.fail(), reported);
});

test('what no cause is known of is the same error, and what a session has not is not there', async () => {
  const error = new Error('no');
  const { poll, ...others } = explainedSession(
    { receive, poll: () => Promise.reject(error), exchange: 'celeryev' },
    url,
    createPeerText([]),
  );
  await assert.rejects(
    poll?.({ ...QUESTION, queues: [] }, signal) ?? assert.fail(),
    (given) => given === error,
  );
  assert.deepEqual(Object.keys(others).sort(), ['exchange', 'receive']);
});

test('no secret is in the reasons of failed and incomplete polls', async () => {
  const hide = createPeerText(['hunter2']);
  const denied = explainedSession(
    { receive, poll: () => Promise.reject(new Error('ERR hunter2')) },
    url,
    hide,
  );
  await assert.rejects(
    denied.poll?.({ ...QUESTION, queues: [] }, signal) ?? assert.fail(),
    /^Error: ERR \*\*\*$/u,
  );
  const read = async () => ({ queues: [], incomplete: ['shop: ERR HUNTER2'] });
  const reading = await explainedSession({ receive, poll: read }, url, hide).poll?.(
    { ...QUESTION, queues: [] },
    signal,
  );
  assert.deepEqual(reading, { queues: [], incomplete: ['shop: ERR ***'] });
});
