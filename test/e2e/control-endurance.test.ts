/**
 * Hundreds of polls of workers whose tasks have arguments that JSON cannot encode, on Redis: an unsafe question stops workers of
 * Celery up to 5.6 for good. Once by one session, and once by processes that are killed in between.
 *
 *     POLLS=1000 npm test -- test/e2e/control-endurance.test.ts
 */

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { Redis as Client } from 'ioredis';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import type { Session } from '../../src/broker/broker.ts';
import type { ControlCommand } from '../../src/broker/control/commands.ts';
import { addressOf } from '../broker/observed-session.ts';
import { redisTransport } from '../broker/redis/redis-transport.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type CeleryWorker, celeryFlavours, runPython, startWorker } from '../real/celery.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';

/** By one session, and by processes that are killed. A thousand of each take two minutes. */
const POLLS = Number(process.env['POLLS'] ?? 300);
const POLLS_PER_LIFE = 50;
/** `stats` and `active_queues`. */
const QUESTIONS_PER_POLL = 2;
const RUNNING_S = 120;

let redis: Redis;
let admin: Client;
let workers: readonly CeleryWorker[];

before(async () => {
  redis = await startRedis();
  admin = new Client(redis.url, { protocol: 2 });
  workers = await Promise.all(
    celeryFlavours().map((flavour) =>
      startWorker({
        ...{ broker: redis.url, backend: 'cache+memory://', flavour, nodename: `${flavour.name}@shop` },
        ...{ concurrency: 3, queues: [flavour.name], folder: import.meta.dirname, app: 'shop_unencodable' },
        env: { C_FORCE_ROOT: '1' },
      }),
    ),
  );
  // Two of the three processes of each worker are busy all the time, so that there is always something to tell.
  for (const { name } of celeryFlavours()) await send(2, RUNNING_S, name);
});

after(async () => {
  admin.disconnect();
  await Promise.all(workers.map((worker) => worker.kill()));
  await redis.stop();
});

async function send(count: number, seconds: number, queue: string): Promise<void> {
  const [flavour] = celeryFlavours();
  const script = `from shop_unencodable import send; send(${count}, ${seconds}, "${queue}"); print("null")`;
  const cluster = { broker: redis.url, backend: 'cache+memory://' };
  await runPython(flavour, '-c', [script], cluster, { folder: import.meta.dirname });
}

async function openSession(t: TestContext): Promise<Session> {
  const ending = new AbortController();
  const opening = await redisTransport().open({
    ...{
      url: addressOf(redis.url),
      connectTimeoutMs: DEADLINE_MS,
      bodyBytesMax: 2_097_152,
      signal: ending.signal,
    },
    onExchangeDeclared: () => undefined,
    onPublishing: () => undefined,
    onShed: () => undefined,
  });
  assert.ok(opening.kind === 'opened');
  const ended = opening.session.receive(() => undefined);
  t.after(async () => {
    ending.abort();
    await ended;
  });
  return opening.session;
}

/** @returns how many workers replied */
async function ask(session: Session, command: ControlCommand): Promise<number> {
  const answer = await session.ask?.(
    {
      ...{ command, namespace: 'celery', timeoutMs: DEADLINE_MS, take: () => false },
      redis: { owner: 'endurance', separator: '\u0006\u0016' },
    },
    new AbortController().signal,
  );
  return answer?.taken ?? 0;
}

/** All workers answer, take new tasks, and logged no error; and nothing of ours is left. */
async function assertSound(t: TestContext): Promise<void> {
  const session = await openSession(t);
  assert.equal(await ask(session, 'ping'), workers.length);
  // Of each worker, so that none does the work of another one.
  for (const { name } of celeryFlavours()) {
    await send(10, 0.01, name);
    await until(`${name} consumes`, async () => (await admin.llen(name)) === 0);
  }
  for (const worker of workers) assert.doesNotMatch(worker.log(), /Traceback|ERROR|CRITICAL/u);
}

/** The binding of the list of replies is written before each question; workers write theirs when they start only. */
async function questionsAsked(): Promise<number> {
  const [, calls = '0'] = /cmdstat_sadd:calls=(\d+)/u.exec(await admin.info('commandstats')) ?? [];
  return Number(calls);
}

async function replyKeys(): Promise<readonly string[]> {
  return (await admin.keys('*')).filter((key) => key.includes('reply'));
}

describe('workers whose tasks cannot be encoded', { concurrency: 1 }, () => {
  test(`${POLLS} polls by one session`, async (t) => {
    const session = await openSession(t);
    const missing: string[] = [];
    for (let poll = 0; poll < POLLS; poll += 1) {
      for (const command of ['stats', 'active_queues', 'active'] as const) {
        if ((await ask(session, command)) < workers.length) missing.push(`${command} ${poll}`);
      }
    }
    assert.deepEqual(missing, []);
    await assertSound(t);
  });

  test(`${POLLS} polls by processes that are killed after ${POLLS_PER_LIFE} each`, async (t) => {
    const sink = await startReceiver();
    t.after(() => sink.stop());
    const env = {
      CELERY_BROKER_URL: redis.url,
      CELERY_OTEL_COLLECTION_INTERVAL: '0.001',
      CELERY_OTEL_INITIAL_DELAY: '0.001',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    };
    const polled = async (polls: number): Promise<void> => {
      let asked = await questionsAsked();
      const due = asked + polls * QUESTIONS_PER_POLL;
      await until(
        `${due} questions`,
        async () => {
          asked = await questionsAsked();
          return asked >= due;
        },
        () => asked,
      );
    };
    for (let life = 0; life < POLLS / POLLS_PER_LIFE; life += 1) {
      const bridge = startBridge(t, env);
      await polled(POLLS_PER_LIFE);
      bridge.signal('SIGKILL');
      await bridge.ended();
    }
    const last = startBridge(t, env);
    await polled(1);
    last.signal('SIGTERM');
    assert.equal((await last.ended()).code, 0);
    assert.deepEqual(await replyKeys(), []);
    await assertSound(t);
  });
});
