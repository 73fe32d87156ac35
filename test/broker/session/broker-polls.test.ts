/** When a broker is polled, and what becomes of an answer that fails, is late or belongs to an ended session. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Session } from '../../../src/broker/broker.ts';
import type { BrokerReading } from '../../../src/broker/broker-reading.ts';
import { QUEUES_PER_POLL_MAX, queuesToPoll } from '../../../src/broker/queue-names.ts';
import { type BrokerPollOptions, startBrokerPolls } from '../../../src/broker/session/broker-polls.ts';
import { repeat } from '../../../src/timing/rhythm.ts';
import { QUESTION } from '../poll-keys.ts';
import { mockedTime } from '../scripted-transport.ts';

const READING: BrokerReading = { queues: [{ queue: 'orders', length: 3 }], incomplete: [] };
/** `random` is one half. */
const RHYTHM = { intervalMs: 10_000, initialDelayMs: 1000, random: () => 0.5 };
const LATE = 'failure no reply within 10000 ms';

type Poll = NonNullable<Session['poll']>;

/** A session that is polled; what was read, and what was told of it in short. */
function polled(t: TestContext, poll: Poll | undefined, over: Partial<BrokerPollOptions> = {}) {
  const pass = mockedTime(t);
  const readings: (BrokerReading | undefined)[] = [];
  const results: string[] = [];
  const session: Session = { receive: () => new Promise(() => {}) };
  const end = startBrokerPolls(poll === undefined ? session : { ...session, poll }, {
    ...RHYTHM,
    question: () => ({ ...QUESTION, queues: ['orders'] }),
    onReading: (reading) => void readings.push(reading),
    onResult: ({ outcome, reason }) => void results.push(`${outcome} ${reason}`.trim()),
    ...over,
  });
  t.after(end);
  return { pass, end, readings, results };
}

/** The first poll succeeds; the answer to the second one comes when it is given. */
function secondLate() {
  let polls = 0;
  const late = Promise.withResolvers<BrokerReading>();
  const poll: Poll = () => {
    polls += 1;
    return polls === 2 ? late.promise : Promise.resolve(READING);
  };
  return { poll, answer: late.resolve, polls: () => polls };
}

test('a session is polled at its interval, the first time at a random time within it, after a delay', async (t) => {
  const atMs: number[] = [];
  const { pass, readings, results } = polled(t, async ({ queues }) => {
    atMs.push(performance.now());
    assert.deepEqual(queues, ['orders']);
    return READING;
  });
  await pass(36_500);
  assert.deepEqual(atMs, [6000, 16_000, 26_000, 36_000]);
  assert.deepEqual(readings, [READING, READING, READING, READING]);
  assert.deepEqual(results, ['success', 'success', 'success', 'success']);
});

test('what is asked soon is asked right after the delay; from then on its times are spread, too', async (t) => {
  const pass = mockedTime(t);
  const atMs: number[] = [];
  const act = async () => void atMs.push(performance.now());
  void repeat({ ...RHYTHM, isFirstSoon: true }, act, t.signal);
  await pass(26_500);
  assert.deepEqual(atMs, [1000, 6000, 16_000, 26_000]);
});

test('a slow poll never overlaps with the next one, and its reading has the time at which it began', async (t) => {
  const ageMs: number[] = [];
  let [running, most] = [0, 0];
  const poll: Poll = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 9000));
    running -= 1;
    return READING;
  };
  const { pass } = polled(t, poll, {
    intervalMs: 4000,
    onReading: (_, beganUpMs) => void ageMs.push(performance.now() - beganUpMs),
  });
  await pass(31_000);
  assert.deepEqual([most, ageMs], [1, [9000, 9000, 9000]]);
});

test('a failed poll leaves no reading and is told; the next one is read again', async (t) => {
  let polls = 0;
  const { pass, readings, results } = polled(t, async () => {
    polls += 1;
    if (polls === 2) throw new Error('out of order');
    return polls === 3 ? { ...READING, incomplete: ['no permission', 'too many'] } : READING;
  });
  await pass(28_000);
  assert.deepEqual(
    readings.map((reading) => reading?.queues.length),
    [1, undefined, 1],
  );
  assert.deepEqual(results, ['success', 'failure out of order', 'partial no permission; too many']);
});

test('a poll without an answer for ten seconds is given up and told, and the next one is read', async (t) => {
  let polls = 0;
  const poll: Poll = (_, signal) => {
    polls += 1;
    if (polls > 1) return Promise.resolve(READING);
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  };
  const { pass, readings, results } = polled(t, poll);
  await pass(17_000);
  assert.deepEqual(readings, [undefined, READING]);
  assert.deepEqual(results, [LATE, 'success']);
});

test('a poll that does not end although it is given up fails again and again, and no other one begins', async (t) => {
  const { poll, answer, polls } = secondLate();
  const { pass, readings, results } = polled(t, poll);
  await pass(46_000);
  assert.deepEqual([polls(), readings], [2, [READING, undefined, undefined, undefined]]);
  assert.deepEqual(results, ['success', LATE, LATE, LATE]);
  answer(READING);
  await pass(100);
  assert.deepEqual([polls(), readings.at(-1)], [3, READING], 'the late answer itself is not taken');
});

test('with the end of its session a reading is gone, and an answer that comes later is not taken', async (t) => {
  const { poll, answer, polls } = secondLate();
  const { pass, end, readings, results } = polled(t, poll);
  await pass(16_000);
  assert.deepEqual([polls(), readings], [2, [READING]]);
  end();
  answer({ queues: [], incomplete: [] });
  await pass(100);
  assert.deepEqual([readings, results], [[READING, undefined], ['success']]);
});

test('a poll that the end of its session cuts off is not told, though closing takes a second', async (t) => {
  const { pass, end, results } = polled(t, () => Promise.reject(new Error('Connection is closed.')));
  await pass(7000);
  end();
  await pass(3000);
  assert.deepEqual(results, []);
});

test('a session without polls, such as a recording, is never asked', async (t) => {
  const { pass, readings, results } = polled(t, undefined);
  await pass(20_000);
  assert.deepEqual([readings, results], [[], []]);
});

test('queues of events and of remote control are never polled, and of too many the first ones are', () => {
  const names = [
    'orders',
    'celeryev',
    'celeryev.1-2',
    'celery@w1.celery.pidbox',
    'x.reply.celery.pidbox',
    '',
    'orders',
  ];
  assert.deepEqual(queuesToPoll([...names, 'celeryevents']), {
    queues: ['orders', 'celeryevents'],
    incomplete: [],
  });
  const many = Array.from({ length: QUEUES_PER_POLL_MAX + 2 }, (_, index) => `q${index}`);
  const { queues, incomplete } = queuesToPoll(many);
  assert.deepEqual(queues, many.slice(0, QUEUES_PER_POLL_MAX));
  assert.match(incomplete.join(), /^2 queues are not polled/u);
});
