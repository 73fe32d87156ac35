/** What a service asks its workers on RabbitMQ: what is asked when, who is expected, and what becomes of the replies. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RawMessage, Session } from '../../../src/broker/broker.ts';
import type { ControlAnswer, ControlQuestion } from '../../../src/broker/control/control.ts';
import type { WorkerStats } from '../../../src/celery/control-reply.ts';
import { type InspectionOptions, newMemory } from '../../../src/service/inspection/inspection-options.ts';
import type { AskedResult } from '../../../src/service/inspection/replies.ts';
import { message } from '../../celery/wire.ts';
import { inspecting } from './inspecting.ts';

type Ask = NonNullable<Session['ask']>;

const NOTHING_UNTAKEN = { late: 0, tooLarge: 0, unreadable: 0, beyond: 0 };
const STATS = { pid: 7, pool: { 'max-concurrency': 4 } };

function reply(nodename: string, value: unknown = STATS): RawMessage {
  return message(JSON.stringify({ [nodename]: value }));
}

/** An answer after these replies. */
function answer(
  { take }: ControlQuestion,
  replies: readonly RawMessage[],
  more: Partial<ControlAnswer> = {},
): ControlAnswer & { readonly complete: boolean } {
  const complete = replies.map((each) => take(each)).some(Boolean);
  return { receivers: undefined, taken: replies.length, untaken: NOTHING_UNTAKEN, complete, ...more };
}

/** What came of each question but pings, which these hear, and what the cluster was told. */
function inspect(
  t: TestContext,
  ask: Ask,
  more: Partial<InspectionOptions> = {},
  hears: readonly string[] = ['w1@a'],
) {
  const asked: AskedResult[] = [];
  const reported: [string, ...unknown[]][] = [];
  const up: string[] = [];
  const processes = new Map<string, object>();
  const processOf = (nodename: string): object => {
    const known = processes.get(nodename) ?? {};
    processes.set(nodename, known);
    return known;
  };
  const replies: Ask = async (question, signal) => {
    if (question.command !== 'ping' || question.destination?.some((each) => !hears.includes(each)))
      return ask(question, signal);
    const pongs = hears.map((each) => reply(each, { ok: 'pong' }));
    return answer(question, pongs);
  };
  const { stop, until } = inspecting(t, replies, {
    answers: {
      *workersUp() {
        const common = { version: '5.4.0', seenMs: 0, receivedMs: -1 };
        return up.map((nodename) => ({ ...common, nodename, process: processOf(nodename) }));
      },
      consumes(nodename, queues) {
        reported.push(['consumes', nodename, queues]);
        return true;
      },
      workerReported: (nodename: string, stats: WorkerStats) =>
        void reported.push(['stats', nodename, stats.limit]),
      workerRuns(nodename, tasks) {
        reported.push(['runs', nodename, tasks.map(({ uuid }) => uuid)]);
        return nodename !== 'unknown@a';
      },
      workerHas(nodename, tasks) {
        reported.push(['has', nodename, tasks.map(({ uuid, stage }) => `${stage} ${uuid}`)]);
        return true;
      },
      workersAsked: (ageMs) =>
        void reported.push(['asked', ageMs === undefined ? undefined : ageMs() < 10_000]),
    },
    onAsked(each) {
      if (each.command !== 'ping' || each.outcome !== 'success') asked.push(each);
    },
    onImplausible: ({ field }) => void reported.push(['implausible', field]),
    ...more,
  });
  return {
    ...{ asked, reported, up, stop },
    /** All workers are restarted. */
    restart: () => processes.clear(),
    /** Resolves once so many questions have ended. */
    untilAsked: (count: number) => until(() => asked.length >= count),
  };
}

test('each command is asked in each round, and its replies are told to the cluster', async (t) => {
  const questions: Omit<ControlQuestion, 'take'>[] = [];
  const inspection = inspect(
    t,
    async ({ take, ...question }) => {
      questions.push(question);
      const value = question.command === 'stats' ? STATS : [{ name: 'orders' }];
      return answer({ take, ...question }, [reply('w1@a', value), reply('w2@a', value)]);
    },
    { commands: ['stats', 'active_queues'] },
    ['w1@a', 'w2@a'],
  );
  await inspection.untilAsked(3);
  const destination = ['w1@a', 'w2@a'];
  const common = {
    destination,
    namespace: 'celery',
    redis: { owner: 'shop', separator: ':' },
    timeoutMs: 500,
  };
  assert.deepEqual(questions.slice(0, 3), [
    { command: 'stats', ...common },
    { command: 'active_queues', ...common },
    { command: 'stats', ...common },
  ]);
  assert.deepEqual(inspection.reported.slice(0, 5), [
    ['stats', 'w1@a', 4],
    ['stats', 'w2@a', 4],
    ['consumes', 'w1@a', ['orders']],
    ['consumes', 'w2@a', ['orders']],
    ['asked', true],
  ]);
  assert.deepEqual(inspection.asked[0], {
    ...{ command: 'stats', outcome: 'success', reason: '' },
    replies: { answer: 2 },
  });
});

test('those that are up, or replied to a ping, are asked; the others are not waited for', async (t) => {
  const complete: boolean[] = [];
  const destinations: (readonly string[] | undefined)[] = [];
  const ask: Ask = async (question) => {
    const given = answer(question, [reply('w1@a'), reply('new@a')]);
    complete.push(given.complete);
    destinations.push(question.destination);
    return given;
  };
  const inspection = inspect(t, ask, {}, ['w1@a', 'quiet@a']);
  inspection.up.push('w1@a');
  await inspection.untilAsked(1);
  assert.deepEqual([destinations[0], complete[0]], [['w1@a', 'quiet@a'], false]);
  assert.deepEqual(inspection.asked[0], {
    ...{ command: 'stats', outcome: 'success', reason: '' },
    replies: { answer: 2 },
  });
});

test('workers that do not reply are named, the first ones, unless nobody could be asked', async (t) => {
  let receivers: number | undefined = 9;
  const names = Array.from({ length: 7 }, (_, index) => `w${index}@a`);
  const ask: Ask = async (question) => answer(question, [], { receivers });
  const inspection = inspect(t, ask, {}, names);
  inspection.up.push(...names);
  await inspection.untilAsked(1);
  assert.deepEqual(inspection.asked[0], {
    ...{ command: 'stats', outcome: 'partial', replies: {} },
    reason: 'no reply within 500 ms from w0@a, w1@a, w2@a, w3@a, w4@a and 2 more',
    receivers: 9,
  });
  receivers = 0;
  inspection.restart();
  await inspection.untilAsked(2);
  assert.deepEqual(inspection.asked[1], {
    ...{ command: 'stats', outcome: 'success', reason: '', replies: {}, receivers: 0 },
  });
});

test('each kind of reply that is of no use is counted, and told why', async (t) => {
  const pickle = message('{}', { contentType: 'application/x-python-serialize' });
  const inspection = inspect(t, async (question) =>
    answer(
      question,
      [
        ...[reply('w1@a'), reply('w1@a'), reply('w2@a', { error: 'secret' }), reply('w3@a', 'pong')],
        ...[pickle, message('7'), reply('w4@a', { pid: -1 })],
      ],
      { untaken: { late: 3, tooLarge: 1, unreadable: 1, beyond: 2 } },
    ),
  );
  await inspection.untilAsked(1);
  assert.deepEqual(inspection.asked[0]?.replies, {
    ...{ answer: 2, repeated: 1, error: 2, unreadable: 3, late: 3, too_large: 3 },
  });
  assert.deepEqual(inspection.asked[0]?.reason.split('; '), [
    'two workers have the name w1@a',
    'w2@a replied with an error',
    'w3@a replied with an error',
    'a worker uses pickle for its replies, which is never decoded: set task_serializer to json',
    'a reply is unreadable: missing-hostname (reply)',
  ]);
  assert.deepEqual(
    inspection.reported.filter(([what]) => what === 'implausible'),
    [['implausible', 'pid']],
  );
});

test('if the workers cannot be asked, what they told is not known any more; the next round asks again', async (t) => {
  let isBroken = false;
  const inspection = inspect(t, async (question) => {
    if (isBroken) throw new Error('403');
    return answer(question, [reply('w1@a')]);
  });
  await inspection.untilAsked(1);
  isBroken = true;
  await inspection.untilAsked(inspection.asked.length + 2);
  isBroken = false;
  await inspection.untilAsked(inspection.asked.length + 2);
  const failed = { command: 'stats', outcome: 'failure', reason: '403', replies: {} };
  assert.deepEqual(
    inspection.asked.find(({ outcome }) => outcome === 'failure'),
    failed,
  );
  const ages = inspection.reported.filter(([what]) => what === 'asked').map(([, age]) => age);
  const first = ages.indexOf(undefined);
  assert.ok(first > 0 && ages.lastIndexOf(true) > first, String(ages));
});

test('at the end the question is given up, and nothing is known or told after it', async (t) => {
  const signals: AbortSignal[] = [];
  const begun = Promise.withResolvers<void>();
  const inspection = inspect(t, async (question, signal) => {
    signals.push(signal);
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return answer(question, []);
  });
  await begun.promise;
  inspection.stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([signals.length, signals[0]?.aborted, inspection.asked], [1, true, []]);
  assert.deepEqual(inspection.reported, [['asked', undefined]]);
});

test('without a command, or with a recording, nobody is asked', async (t) => {
  let asked = 0;
  const ask: Ask = async (question) => {
    asked += 1;
    return answer(question, []);
  };
  const inspection = inspect(t, ask, { commands: [] });
  await new Promise((resolve) => setTimeout(resolve, 20));
  inspection.stop();
  assert.equal(asked, 0);
  assert.deepEqual(inspection.reported, [['asked', undefined]]);
});

test('a worker that is not known yet is asked for its tasks again, a few times', async (t) => {
  const destinations: (readonly string[] | undefined)[] = [];
  const ask: Ask = async (question) => {
    destinations.push(question.destination);
    return answer(
      question,
      (question.destination ?? []).map((each) => reply(each, [{ id: 'u1' }])),
    );
  };
  const inspection = inspect(t, ask, { commands: ['active'] }, ['w1@a', 'unknown@a']);
  await inspection.untilAsked(3);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(destinations, [['w1@a', 'unknown@a'], ['unknown@a'], ['unknown@a']]);
  assert.deepEqual(inspection.reported.filter(([what]) => what === 'runs').slice(0, 2), [
    ['runs', 'w1@a', ['u1']],
    ['runs', 'unknown@a', ['u1']],
  ]);
});

test('tasks are asked for in the order of their stages; risky commands once of each process, and at most once a minute', async (t) => {
  const questions: string[] = [];
  const memory = newMemory();
  const ask: Ask = async (question) => {
    questions.push(question.command);
    const task = question.command === 'reserved' ? { id: 'u1' } : { eta: null, request: { id: 'u2' } };
    return answer(question, [reply('w1@a', question.command === 'stats' ? STATS : [task])]);
  };
  // So that none is missed which moves on meanwhile.
  const commands = ['active', 'reserved', 'scheduled', 'stats'] as const;
  const inspection = inspect(t, ask, { commands, memory });
  inspection.up.push('w1@a');
  await inspection.untilAsked(6);
  assert.deepEqual(questions.slice(0, 6), ['stats', 'scheduled', 'reserved', 'active', 'stats', 'stats']);
  assert.deepEqual(
    inspection.reported.filter(([what]) => what === 'has'),
    [
      ['has', 'w1@a', ['waiting u2']],
      ['has', 'w1@a', ['waiting u1']],
    ],
  );
  inspection.restart();
  await inspection.untilAsked(9);
  assert.deepEqual(
    new Set(questions.slice(6)),
    new Set(['stats', 'active']),
    'in the same minute, not even of another process',
  );
  inspection.stop();
  // Another session of the same service, a minute later for one of the two.
  memory.riskyAskedMs.set('reserved', performance.now() - 60_000);
  questions.length = 0;
  const next = inspect(t, ask, { commands, memory });
  await next.untilAsked(4);
  assert.deepEqual(questions.slice(0, 4), ['stats', 'reserved', 'active', 'stats']);
});

test('task events are switched on before anything else, for new processes too, and a worker that cannot is named', async (t) => {
  const switched: (readonly string[] | undefined)[] = [];
  const ask: Ask = async (question) => {
    if (question.command === 'stats') return answer(question, [reply('w1@a'), reply('w2@a')]);
    switched.push(question.destination);
    return answer(question, [
      reply('w1@a', { ok: 'task events enabled' }),
      reply('w2@a', { error: 'no dispatcher' }),
    ]);
  };
  const names = ['w1@a', 'w2@a'];
  const inspection = inspect(t, ask, { enableEvents: true }, names);
  inspection.up.push(...names);
  const asked = async (count: number) => {
    await inspection.untilAsked(count);
    return switched.splice(0).filter((destination) => destination?.includes('w1@a'));
  };
  assert.deepEqual(await asked(9), [names]);
  inspection.restart();
  assert.deepEqual(await asked(18), [names]);
  assert.deepEqual(
    inspection.asked.slice(0, 2).map(({ command, outcome, reason }) => [command, outcome, reason]),
    [
      ['enable_events', 'partial', 'w2@a replied with an error'],
      ['stats', 'success', ''],
    ],
  );
});
