/** When a broker is polled, and what becomes of an answer that fails, is late or belongs to an ended session. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session } from '../../../src/broker/broker.ts';
import type { BrokerReading, PollQuestion } from '../../../src/broker/broker-reading.ts';
import { QUEUES_PER_POLL_MAX, queuesToPoll } from '../../../src/broker/queue-names.ts';
import { type BrokerPollOptions, startBrokerPolls } from '../../../src/broker/session/broker-polls.ts';
import { repeat } from '../../../src/timing/rhythm.ts';
import {
  listenScripted,
  opened,
  openThen,
  type Scripted,
  type Step,
  untilStopped,
} from '../scripted-transport.ts';

const REDIS_KEYS = {
  separator: ':',
  prioritySteps: [0],
  unackedKey: 'u',
  unackedIndexKey: 'i',
  visibilityTimeoutMs: 1000,
};
const READING: BrokerReading = { queues: [{ queue: 'orders', length: 3 }], incomplete: [] };

type Poll = NonNullable<Session['poll']>;

/** A session that lasts until it is stopped, and its polls. */
function polled(poll: Poll): Step {
  return (options) =>
    withPoll(
      opened(() => untilStopped(options)),
      poll,
    );
}

function withPoll(opening: ReturnType<typeof opened>, poll: Poll): ReturnType<typeof opened> {
  return opening.kind === 'opened' ? { ...opening, session: { ...opening.session, poll } } : opening;
}

/** What was told of polls, in short. */
function results({ reported }: Scripted): readonly string[] {
  return reported.items.flatMap((event) =>
    event.kind === 'broker-polled' ? [`${event.outcome} ${event.reason}`.trim()] : [],
  );
}

function pollsWith(readings: (BrokerReading | undefined)[], scripted: () => Scripted) {
  return {
    ...{ intervalMs: 10_000, initialDelayMs: 1000, random: () => 0.5 },
    question: (): PollQuestion => ({
      queues: ['orders'],
      unackedByQueue: false,
      namespace: 'celery',
      redis: REDIS_KEYS,
    }),
    onReading: (reading: BrokerReading | undefined) => void readings.push(reading),
    onResult: (result: { outcome: 'success' | 'partial' | 'failure'; reason: string }) =>
      void scripted().reported.add({ ...result, kind: 'broker-polled', service: 'shop' }),
  };
}

const polling = (options: () => BrokerPollOptions) => (session: Session) =>
  startBrokerPolls(session, options());

test('a session is polled at its interval, the first time at a random time within it, after a delay', async (t) => {
  const atMs: number[] = [];
  const readings: (BrokerReading | undefined)[] = [];
  const poll: Poll = async ({ queues }) => {
    atMs.push(performance.now());
    assert.deepEqual(queues, ['orders']);
    return READING;
  };
  const scripted: Scripted = listenScripted(t, [polled(poll)], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(36_500);
  // `random` is one half.
  assert.deepEqual(atMs, [6000, 16_000, 26_000, 36_000]);
  assert.deepEqual(readings, [READING, READING, READING, READING]);
  assert.deepEqual(results(scripted), ['success', 'success', 'success', 'success']);
});

test('what is asked soon is asked right after the delay; from then on its times are spread, too', async (t) => {
  const atMs: number[] = [];
  const rhythm = { intervalMs: 10_000, initialDelayMs: 1000, random: () => 0.5, isFirstSoon: true };
  const scripted: Scripted = listenScripted(t, [polled(async () => READING)], {
    during() {
      const ending = new AbortController();
      void repeat(rhythm, async () => void atMs.push(performance.now()), ending.signal);
      return () => ending.abort();
    },
  });
  await scripted.pass(26_500);
  assert.deepEqual(atMs, [1000, 6000, 16_000, 26_000]);
});

test('a reading has the time at which its poll began', async (t) => {
  const ageMs: number[] = [];
  const poll: Poll = async () => {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    return READING;
  };
  const polls = (scripted: () => Scripted) => ({
    ...pollsWith([], scripted),
    onReading: (_: BrokerReading | undefined, beganUpMs: number) =>
      void ageMs.push(performance.now() - beganUpMs),
  });
  const scripted: Scripted = listenScripted(t, [polled(poll)], {
    during: polling(() => polls(() => scripted)),
  });
  await scripted.pass(9000);
  assert.deepEqual(ageMs, [3000]);
});

test('a slow poll never overlaps with the next one', async (t) => {
  let [running, most, polls] = [0, 0, 0];
  const poll: Poll = async (_, signal) => {
    polls += 1;
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 9000));
    running -= 1;
    signal.throwIfAborted();
    return READING;
  };
  const polls5 = (scripted: () => Scripted) => ({ ...pollsWith([], scripted), intervalMs: 4000 });
  const scripted: Scripted = listenScripted(t, [polled(poll)], {
    during: polling(() => polls5(() => scripted)),
  });
  await scripted.pass(31_000);
  assert.equal(most, 1);
  assert.equal(polls, 4);
});

test('a failed poll leaves no reading and is told; the next one is read again', async (t) => {
  const readings: (BrokerReading | undefined)[] = [];
  let polls = 0;
  const poll: Poll = async () => {
    polls += 1;
    if (polls === 2) throw new Error('out of order');
    return polls === 3 ? { ...READING, incomplete: ['no permission', 'too many'] } : READING;
  };
  const scripted: Scripted = listenScripted(t, [polled(poll)], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(26_000);
  assert.deepEqual(
    readings.map((reading) => reading?.queues.length),
    [1, undefined, 1],
  );
  assert.deepEqual(results(scripted), ['success', 'failure out of order', 'partial no permission; too many']);
});

test('a poll without an answer for ten seconds is given up and told, and the next one is read', async (t) => {
  const readings: (BrokerReading | undefined)[] = [];
  let polls = 0;
  const poll: Poll = (_, signal) => {
    polls += 1;
    if (polls > 1) return Promise.resolve(READING);
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  };
  const scripted: Scripted = listenScripted(t, [polled(poll)], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(17_000);
  assert.deepEqual(readings, [undefined, READING]);
  assert.deepEqual(results(scripted), ['failure no reply within 10000 ms', 'success']);
});

test('a poll that does not end although it is given up fails again and again, and no other one begins', async (t) => {
  const readings: (BrokerReading | undefined)[] = [];
  let [answer, polls] = [(_: BrokerReading) => {}, 0];
  const poll: Poll = () => {
    polls += 1;
    return polls === 2
      ? new Promise((resolve) => {
          answer = resolve;
        })
      : Promise.resolve(READING);
  };
  const scripted: Scripted = listenScripted(t, [polled(poll)], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(46_000);
  assert.deepEqual([polls, readings], [2, [READING, undefined, undefined, undefined]]);
  const late = 'failure no reply within 10000 ms';
  assert.deepEqual(results(scripted), ['success', late, late, late]);
  answer(READING);
  await scripted.pass(100);
  assert.deepEqual([polls, readings.at(-1)], [3, READING], 'the late answer itself is not taken');
});

test('with the end of its session a reading is gone, and an answer that comes later is not taken', async (t) => {
  const readings: (BrokerReading | undefined)[] = [];
  let [answer, asked] = [(_: BrokerReading) => {}, 0];
  const late: Poll = () => {
    asked += 1;
    return asked === 1
      ? Promise.resolve(READING)
      : new Promise((resolve) => {
          answer = resolve;
        });
  };
  const ends = Promise.withResolvers<{ readonly kind: 'lost'; readonly reason: string }>();
  const step: Step = () =>
    withPoll(
      opened(() => ends.promise),
      late,
    );
  const scripted: Scripted = listenScripted(t, [step], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(16_000);
  assert.deepEqual([asked, readings.length], [2, 1]);
  ends.resolve({ kind: 'lost', reason: 'gone' });
  await scripted.pass(100);
  answer({ queues: [], incomplete: [] });
  await scripted.pass(100);
  assert.deepEqual(readings, [READING, undefined]);
  assert.deepEqual(results(scripted), ['success']);
});

test('a poll that the end of its session cuts off is not told, though closing takes a second', async (t) => {
  const readings: (BrokerReading | undefined)[] = [];
  const step: Step = (options) =>
    withPoll(
      opened(async () => {
        const end = await untilStopped(options);
        await new Promise((resolve) => setTimeout(resolve, 1000));
        return end;
      }),
      () =>
        new Promise((_, reject) => {
          options.signal.addEventListener('abort', () => reject(new Error('Connection is closed.')));
        }),
    );
  const scripted: Scripted = listenScripted(t, [step], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(7000);
  scripted.stopping.abort();
  await scripted.pass(3000);
  await scripted.listener.done;
  assert.deepEqual([readings, results(scripted)], [[undefined], []]);
});

test('a session without polls, such as a recording, is never asked', async (t) => {
  const readings: (BrokerReading | undefined)[] = [];
  const scripted: Scripted = listenScripted(t, [openThen({ kind: 'finished' })], {
    during: polling(() => pollsWith(readings, () => scripted)),
  });
  await scripted.pass(20_000);
  assert.deepEqual([readings, results(scripted)], [[undefined], []]);
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
