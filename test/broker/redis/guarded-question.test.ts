/** A question on a real Redis is published only if no worker can be harmed by replying to it. Workers are played by their keys. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { Redis as Client } from 'ioredis';
import type { ControlQuestion, Fate } from '../../../src/broker/control/control.ts';
import { replyKeyOf } from '../../../src/broker/redis/reply-keys.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { type Redis, startRedis } from '../../real/redis.ts';
import { addressOf } from '../observed-session.ts';
import { redisTransport } from './redis-transport.ts';
import { replyTo } from './replies.ts';

const OWN = '\u0006\u0016';
const WORKERS = '_kombu.binding.celery.pidbox';
const REPLIES = '_kombu.binding.reply.celery.pidbox';
const CHANNEL = '/0.celery.pidbox';

let redis: Redis;
let admin: Client;
before(async () => {
  redis = await startRedis();
  admin = new Client(redis.url, { protocol: 2 });
});
after(async () => {
  admin?.disconnect();
  await redis?.stop();
});

function memberOf(nodename: string, separator = OWN): string {
  return `${separator}${separator}${nodename}.celery.pidbox`;
}

/** The pid of a process that has ended. */
const killed = spawnSync('true').pid;

function keyOf(pid: number): string {
  return replyKeyOf({ host: hostname(), owner: 'test', pid, number: 1 });
}

/** The member of the first session of a process. */
function leftBy(pid: number, separator = OWN): string {
  return `${keyOf(pid)}${separator}${separator}${keyOf(pid)}.reply.celery.pidbox`;
}

/** Asks once, beside somebody who listens as a worker does, and who replies once it has seen who awaits that. */
async function ask(separator?: string, fates: Readonly<Record<string, Fate>> = {}) {
  const requests: string[] = [];
  /** Of the set of those who await replies, when each request came. */
  const members: (readonly string[])[] = [];
  const listener = new Client(redis.url, { protocol: 2 });
  const reply = async (text: string): Promise<void> => {
    requests.push(text);
    members.push(await admin.smembers(REPLIES));
    await replyTo(admin, text, (ticket) => [{ ticket, body: '{}' }]);
  };
  const replies: Promise<void>[] = [];
  listener.on('message', (_channel: string, text: string) => replies.push(reply(text)));
  await listener.subscribe(CHANNEL);
  const stopping = new AbortController();
  const opening = await redisTransport().open({
    ...{ url: addressOf(redis.url), connectTimeoutMs: 5000, bodyBytesMax: 100_000 },
    ...{ onExchangeDeclared: () => {}, onPublishing: () => {}, onShed: () => {} },
    signal: stopping.signal,
  });
  assert.ok(opening.kind === 'opened');
  const question: ControlQuestion = {
    ...{ command: 'ping', namespace: 'celery', timeoutMs: DEADLINE_MS, take: () => true },
    redis: { owner: 'test', separator, fates: async () => (nodename) => fates[nodename] ?? 'unknown' },
  };
  const asked = opening.session.ask?.(question, stopping.signal) ?? assert.fail('it cannot ask');
  const answer = await asked.catch((error: Error) => error.message);
  // A message that was published comes before this.
  await listener.ping();
  await Promise.all(replies);
  const left = await admin.exists(REPLIES).catch(() => 1);
  const ended = opening.session.receive(() => {});
  stopping.abort();
  await ended;
  listener.disconnect();
  return { answer, heard: { requests, members }, left };
}

/** An empty database with these members. */
async function playing(workers: readonly string[], replies: readonly string[] = []): Promise<void> {
  await admin.flushall();
  if (workers.length > 0) await admin.sadd(WORKERS, ...workers);
  if (replies.length > 0) await admin.sadd(REPLIES, ...replies);
}

for (const separator of [OWN, ':', '::', '#']) {
  test(`with the separator ${JSON.stringify(separator)} of the workers, ours is the same, and there only while a question is open`, async () => {
    await playing([memberOf('a@pod', separator), memberOf('b@pod', separator)]);
    for (const configured of [undefined, separator]) {
      const { answer, heard, left } = await ask(configured);
      assert.ok(typeof answer === 'object', String(answer));
      assert.equal(answer.receivers, 1);
      assert.equal(heard.requests.length, 1);
      const [[member = '', ...others] = []] = heard.members;
      assert.deepEqual(others, []);
      assert.equal(member.split(separator).length, 3, member);
      assert.equal(left, 0, 'nothing is left behind');
    }
  });
}

const REFUSALS: Readonly<
  Record<
    string,
    {
      readonly play: () => Promise<unknown>;
      readonly separator?: string;
      readonly fates?: Readonly<Record<string, Fate>>;
      readonly reason: RegExp;
    }
  >
> = {
  'workers with another separator than the configured one': {
    play: () => playing([memberOf('a@pod', ':')]),
    separator: OWN,
    reason: /^the workers use the separator ":", but sep is "\\u0006\\u0016": set sep to auto/u,
  },
  'a separator that is a part of that of the workers': {
    play: () => playing([memberOf('a@pod', '::')]),
    separator: ':',
    reason: /^the workers use the separator "::", but sep is ":"/u,
  },
  'workers with different separators': {
    play: () => playing([memberOf('a@pod', ':'), memberOf('b@pod')]),
    reason: /^the workers use different separators \(/u,
  },
  'a worker with another separator that is up as well': {
    play: () => playing([memberOf('a@pod', ':'), memberOf('b@pod')]),
    fates: { 'a@pod': 'up', 'b@pod': 'up' },
    reason: /^the workers use different separators \(/u,
  },
  'a worker with another separator that may not have been seen yet': {
    play: () => playing([memberOf('a@pod', ':'), memberOf('b@pod')]),
    fates: { 'b@pod': 'up' },
    reason:
      /if the worker of "::a@pod\.celery\.pidbox" is no longer running, .*: SREM _kombu\.binding\.celery\.pidbox ::a@pod\.celery\.pidbox;/u,
  },
  'workers with different separators, of which none is up': {
    play: () => playing([memberOf('a@pod', ':'), memberOf('b@pod')]),
    fates: { 'a@pod': 'gone', 'b@pod': 'gone' },
    reason: /^the workers use different separators \(/u,
  },
  'a worker that was started again with another separator after it was killed': {
    play: () => playing([memberOf('a@pod', ':'), memberOf('a@pod')]),
    fates: { 'a@pod': 'up' },
    reason: /^the workers use different separators \(.*SREM/u,
  },
  'a worker whose separator cannot be told': {
    play: () => playing(['a@pod.celery.pidbox']),
    reason: /^the workers use different separators|cannot be determined/u,
  },
  'another client with another separator': {
    play: () => playing([memberOf('a@pod')], ['key::key.reply.celery.pidbox']),
    reason: /^another client waits for replies with another separator.*remove key::key\.reply/u,
  },
  'a set of those who await replies that is none': {
    play: async () => {
      await playing([memberOf('a@pod')]);
      await admin.set(REPLIES, 'x');
    },
    reason: /^_kombu\.binding\.reply\.celery\.pidbox does not have the type that kombu expects/u,
  },
  'a full Redis': {
    play: async () => {
      await playing([memberOf('a@pod')]);
      await admin.config('SET', 'maxmemory', '1');
    },
    reason: /OOM command not allowed/u,
  },
};

for (const [what, { play, separator, fates, reason }] of Object.entries(REFUSALS)) {
  test(`nothing is asked and nothing is written: ${what}`, async (t) => {
    await play();
    t.after(() => admin.config('SET', 'maxmemory', '0'));
    const before = await admin.dbsize();
    const { answer, heard } = await ask(separator, fates);
    assert.match(String(answer), reason);
    assert.deepEqual(heard.requests, []);
    assert.equal(await admin.dbsize(), before);
  });
}

test('without a worker that has remote control nothing is asked, and that is no failure', async () => {
  await playing([]);
  const { answer, heard } = await ask();
  assert.ok(typeof answer === 'object', String(answer));
  assert.equal(answer.receivers, 0);
  assert.deepEqual(heard.requests, []);
  assert.equal(await admin.dbsize(), 0);
});

test('what a killed process left behind is removed, whatever its separator was', async () => {
  await playing([memberOf('a@pod')], [leftBy(killed, '::'), leftBy(killed)]);
  await admin.lpush(`${keyOf(killed)}.reply.celery.pidbox`, 'a reply');
  const { answer, heard, left } = await ask();
  assert.ok(typeof answer === 'object', String(answer));
  assert.equal(heard.members[0]?.length, 1);
  assert.equal(left, 0);
  assert.deepEqual(await admin.keys('*'), [WORKERS]);
});

test('what another instance of the same service on the same host awaits stays there, and none takes the replies of another', async () => {
  const other = leftBy(process.ppid);
  await playing([memberOf('a@pod')], [other]);
  const { heard: earlier } = await ask();
  const { heard } = await ask();
  assert.deepEqual(await admin.smembers(REPLIES), [other]);
  const seen = [...(earlier.members[0] ?? []), ...(heard.members[0] ?? [])];
  assert.equal(seen.length, 4);
  assert.equal(new Set(seen).size, 3);
});

for (const stale of ['x', ':']) {
  test(`on a full Redis nothing is asked, although a killed process left a name of ours with ${JSON.stringify(stale)} there`, async (t) => {
    await playing([memberOf('a@pod')], [leftBy(killed, stale)]);
    await admin.config('SET', 'maxmemory', '1');
    t.after(() => admin.config('SET', 'maxmemory', '0'));
    const { answer, heard } = await ask();
    assert.match(String(answer), /OOM command not allowed/u);
    assert.deepEqual(heard.requests, []);
  });
}

test('a name of ours that a killed process left behind is removed even if nothing can be asked', async () => {
  await playing([], [leftBy(killed)]);
  await ask();
  assert.equal(await admin.exists(REPLIES), 0);
});

for (const separator of [undefined, OWN, '##'])
  test(`names that workers left behind with other separators keep nobody from asking those that live, with sep ${JSON.stringify(separator)}`, async () => {
    const own = separator ?? ':';
    await playing([
      memberOf('gone@pod', '%'),
      memberOf('old@pod', '::'),
      memberOf('b@pod', own),
      memberOf('c@pod', own),
    ]);
    const fates = { 'gone@pod': 'gone', 'old@pod': 'gone', 'b@pod': 'up' } as const;
    const { answer, heard } = await ask(separator, fates);
    assert.ok(typeof answer === 'object', String(answer));
    assert.deepEqual(answer.audience?.mailboxes, new Set(['b@pod', 'c@pod']));
    const [request = ''] = heard.requests;
    const { body }: { body: string } = JSON.parse(request);
    const { destination }: { destination: unknown } = JSON.parse(Buffer.from(body, 'base64').toString());
    // A worker that lives although nothing was heard of it does not reply to us.
    assert.deepEqual(new Set([destination].flat()), new Set(['b@pod', 'c@pod']));
  });

test('longer sets than a fleet can have are not read: which they are, and whose', async () => {
  const crowd = Array.from({ length: 20_500 }, (_, index) => index);
  await playing(crowd.map((index) => memberOf(`w${index}@pod`)));
  const ofWorkers = await ask();
  assert.match(
    String(ofWorkers.answer),
    /^_kombu\.binding\.celery\.pidbox has more than 20000 .*workers that were killed/u,
  );
  await playing(
    [memberOf('a@pod')],
    crowd.map((index) => `k${index}${OWN}${OWN}k${index}.reply.celery.pidbox`),
  );
  const ofClients = await ask();
  assert.match(
    String(ofClients.answer),
    /^_kombu\.binding\.reply\.celery\.pidbox has .* of clients.*\(DEL\)/u,
  );
  assert.deepEqual([...ofWorkers.heard.requests, ...ofClients.heard.requests], []);
});
