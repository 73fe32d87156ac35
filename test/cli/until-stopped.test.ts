import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STOP_SIGNALS } from '../../src/cli/exit-code.ts';
import { untilStopped } from '../../src/cli/until-stopped.ts';
import { processIo } from './process-io.ts';

function unexpected(): never {
  assert.fail('its starter is there');
}

/** A job that ends when it is stopped, and records the deadlines of its stops. */
function slowJob() {
  const finished = Promise.withResolvers<'over'>();
  const stopped = Promise.withResolvers<void>();
  const stopping = Promise.withResolvers<void>();
  const deadlines: number[] = [];
  return {
    finish: finished.resolve,
    fail: finished.reject,
    endStop: stopped.resolve,
    failStop: stopped.reject,
    stopping: stopping.promise,
    deadlines,
    job: {
      start: () => {},
      finished: finished.promise,
      stop(deadlineMs: number) {
        deadlines.push(deadlineMs);
        stopping.resolve();
        return stopped.promise;
      },
    },
  };
}

for (const signal of STOP_SIGNALS) {
  test(`${signal} stops the job once`, async () => {
    const { io, send, exits, listeners } = processIo();
    const slow = slowJob();
    const why = untilStopped(slow.job, io, unexpected);
    assert.equal(listeners(), STOP_SIGNALS.length);
    assert.deepEqual(slow.deadlines, []);
    send(signal);
    await slow.stopping;
    slow.endStop();
    assert.equal(await why, 'asked');
    assert.deepEqual(slow.deadlines, [4000]);
    assert.deepEqual(exits, []);
    assert.equal(listeners(), 0);
  });
}

test('a second signal exits at once with its code, unless it is an echo of the first', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const { io, send, exits } = processIo();
    const slow = slowJob();
    const why = untilStopped(slow.job, io, unexpected);
    send('SIGTERM');
    await slow.stopping;
    for (const echo of ['SIGTERM', 'SIGINT', 'SIGINT'] as const) send(echo);
    t.mock.timers.tick(999);
    send(signal);
    assert.deepEqual(exits, [], 'npm forwards what the whole group received');
    t.mock.timers.tick(1);
    send(signal);
    assert.deepEqual(exits, [exitCode]);
    slow.endStop();
    await why;
  }
});

test('a job that misses its deadline exits with 0 within five seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { io, send, exits } = processIo();
  const slow = slowJob();
  const why = untilStopped(slow.job, io, unexpected);
  send('SIGTERM');
  await slow.stopping;
  t.mock.timers.tick(4000);
  assert.deepEqual(exits, []);
  t.mock.timers.tick(999);
  assert.deepEqual(exits, [0]);
  slow.endStop();
  await why;
});

test('a job that fails, or whose stop fails, rejects and leaves no listener', async () => {
  for (const failing of ['fail', 'failStop'] as const) {
    const { io, send, listeners } = processIo();
    const slow = slowJob();
    const why = untilStopped(slow.job, io, unexpected);
    if (failing === 'failStop') send('SIGTERM');
    slow[failing](new Error('broken'));
    await assert.rejects(why, /broken/);
    assert.equal(listeners(), 0);
  }
});

test('signals are handled from before the job starts', async () => {
  const { io, send, listeners } = processIo();
  const slow = slowJob();
  const handled: number[] = [];
  const start = (): void => {
    handled.push(listeners());
    send('SIGTERM');
  };
  const why = untilStopped({ ...slow.job, start }, io, unexpected);
  slow.endStop();
  assert.equal(await why, 'asked');
  assert.deepEqual(handled, [STOP_SIGNALS.length]);
});

const SCRIPT = { npm_lifecycle_event: 'celery-otel' };

test('a job whose parent is gone is stopped once, within a second, with a log line', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { io, orphan, send, exits, listeners } = processIo(SCRIPT);
  const slow = slowJob();
  const gone: number[] = [];
  const why = untilStopped(slow.job, io, () => gone.push(slow.deadlines.length));
  t.mock.timers.tick(10_000);
  assert.deepEqual(gone, []);
  orphan();
  t.mock.timers.tick(1000);
  await slow.stopping;
  t.mock.timers.tick(900);
  // As from a supervisor that kills the rest of a process group.
  send('SIGTERM');
  assert.deepEqual([gone, slow.deadlines, exits], [[0], [4000], []]);
  t.mock.timers.tick(2000);
  slow.endStop();
  assert.equal(await why, 'asked');
  assert.deepEqual(gone, [0]);
  assert.equal(listeners(), 0);
});

test('the end of the parent has no effect on a job that is already stopping', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { io, orphan, send, exits } = processIo(SCRIPT);
  const slow = slowJob();
  const why = untilStopped(slow.job, io, unexpected);
  send('SIGINT');
  await slow.stopping;
  orphan();
  t.mock.timers.tick(3000);
  slow.endStop();
  assert.equal(await why, 'asked');
  assert.deepEqual([slow.deadlines, exits], [[4000], []]);
});
