/** Who is a worker, and what is said of those for which there is no room: the same as the cluster makes of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failed, received, sent, signal, succeeded, T0_MS, traced } from '../cluster/events.ts';
import { STATS, watchCluster } from './watched-cluster.ts';

const [W1, W2, W3] = ['w1@shop', 'w2@shop', 'w3@shop'];
const DEPTHS = [{ queue: 'mails', length: 7 }];

/** Heartbeats of them every second, the last one at that time. */
function beat(on: ReturnType<typeof watchCluster>, names: readonly string[], untilMs: number): void {
  for (let ms = 1000; ms <= untilMs; ms += 1000) for (const name of names) on.signal('heartbeat', name, ms);
}

test('while workers are there that are not looked at, it is not said that there is none', () => {
  const on = watchCluster(1);
  on.signal('heartbeat', W1, 0);
  on.signal('offline', W1, 500);
  beat(on, [W2, W3], 8000);
  on.ask(8000, 'stats', [W2, W3]);
  assert.deepEqual(
    on.lines(8000).filter((line) => /worker/u.test(line)),
    ['not checked, because workers_max is 1: 2 workers'],
  );
  on.signal('offline', W2, 8100);
  on.signal('offline', W3, 8200);
  assert.deepEqual(
    on.lines(8300).filter((line) => /worker/u.test(line)),
    ['no worker is up: all said goodbye'],
    'nor that those are there which left',
  );
});

test('only whom the cluster takes for a worker takes a place', () => {
  const on = watchCluster(1);
  for (const type of ['heartbeat', 'online', 'offline'] as const) on.signal(type, 'gen17@shop', 100);
  on.show(received({ hostname: 'gen18@shop' }), 100);
  on.show(traced({ hostname: 'w9@shop' }), 100);
  on.answers.workerReported('gen19@shop', STATS, { wallMs: T0_MS, listenedMs: 100 });
  on.answers.workerReported('w4@shop', { ...STATS, pid: 0 }, { wallMs: T0_MS, listenedMs: 100 });
  for (const command of ['active_queues', 'active', 'reserved'] as const) on.ask(200, command, [W2]);
  assert.deepEqual([on.evidence.workers.size, on.evidence.unwatched], [0, 0]);
  on.signal('heartbeat', W1, 1000);
  on.ask(1100, 'active_queues', [W1]);
  assert.ok(on.lines(1200).includes('1 worker: 1 sent heartbeats, 1 replied to remote control'));
});

test('no queue is said to have no consumers while the queues of a worker are not known', () => {
  const isAbandoned = (act: (on: ReturnType<typeof watchCluster>) => void) => {
    const on = watchCluster(2);
    on.signal('heartbeat', W1, 0);
    on.ask(100, 'stats', [W1]);
    on.ask(200, 'active_queues', [W1]);
    act(on);
    return on.lines(3000, DEPTHS).includes('queue mails: 7 waiting, and no worker consumes it');
  };
  const cases = {
    'all have told': isAbandoned(() => {}),
    'one appeared since': isAbandoned((on) => on.signal('heartbeat', W2, 300)),
    'one appeared since, and has told': isAbandoned((on) => {
      on.signal('heartbeat', W2, 300);
      on.ask(400, 'active_queues', [W1, W2]);
    }),
    'one appeared since, and left': isAbandoned((on) => {
      on.signal('heartbeat', W2, 300);
      on.signal('offline', W2, 400);
    }),
    'one appeared since for which there is no room': isAbandoned((on) => {
      on.signal('heartbeat', W2, 300);
      on.ask(400, 'active_queues', [W1, W2]);
      on.signal('heartbeat', W3, 500);
    }),
    'one was restarted since': isAbandoned((on) => on.signal('online', W1, 300, 18)),
    'one was restarted since with the same pid': isAbandoned((on) => on.signal('online', W1, 300)),
    'one is only known by its queues, which are dropped': isAbandoned((on) =>
      on.ask(400, 'active_queues', [W1, W2]),
    ),
  };
  assert.deepEqual(
    Object.entries(cases).flatMap(([name, is]) => (is ? [name] : [])),
    ['all have told', 'one appeared since, and has told', 'one appeared since, and left'],
  );
});

test('a queue that a worker has just told, or for which there is no room, is not said to have no consumers', () => {
  const linesOf = (queues: readonly string[], queue: string) => {
    const on = watchCluster(2);
    beat(on, [W1], 3000);
    on.ask(3000, 'stats', [W1]);
    on.ask(3000, 'active_queues', [W1]);
    on.answers.consumes(W1, queues, { wallMs: T0_MS + 3100, listenedMs: 3100 });
    return on.lines(3200, [{ queue, length: 3 }]).filter((line) => line.startsWith('queue'));
  };
  assert.deepEqual(linesOf(['orders', 'mails'], 'mails'), ['queue mails: 3 waiting, 1 consumer']);
  const many = Array.from({ length: 1500 }, (_, index) => `tenant-${index}`);
  assert.deepEqual(linesOf(many, 'tenant-1400'), ['queue tenant-1400: 3 waiting, consumers unknown']);
});

test('workers that are forgotten for their long names were seen, and not looked at', () => {
  const on = watchCluster(50);
  const names = Array.from({ length: 50 }, (_, index) => `w${index}@${'x'.repeat(10_000)}`);
  for (const name of names)
    for (let pid = 1; pid <= 4; pid += 1) on.signal('heartbeat', name, pid * 100, pid);
  on.ask(1000, 'stats', names);
  const { size } = on.cluster.tables().workers;
  assert.ok(size < names.length);
  on.ask(1100, 'active_queues', names);
  const lines = on.lines(2000, DEPTHS);
  assert.ok(lines.includes('queue mails: 7 waiting, consumers unknown'));
  assert.ok(lines.includes(`not checked, because workers_max is 50: ${names.length - size} workers`));
  assert.ok(!lines.some((line) => line.includes('neither state')));
});

test('of the workers that a question reached, those are unseen that have not shown themselves, at any time', () => {
  const unseen = (act: (on: ReturnType<typeof watchCluster>) => void) => {
    const on = watchCluster(1);
    act(on);
    return on
      .lines(20_000)
      .find((line) => line.includes('neither state'))
      ?.split(' ')[0];
  };
  assert.equal(
    unseen((on) => {
      beat(on, [W1, W2], 19_000);
      on.ask(19_100, 'stats', [W1], 4);
    }),
    '2',
  );
  assert.equal(
    unseen((on) => {
      beat(on, [W1, W2], 19_000);
      on.signal('offline', W2, 19_000);
      on.ask(19_100, 'stats', [W1], 3);
      on.ask(19_200, 'active_queues', [W1], 2);
    }),
    '1',
    'the one that left did not receive the last question',
  );
  assert.equal(
    unseen((on) => {
      beat(on, [W1, W2], 19_000);
      on.ask(19_100, 'stats', [W1], 2);
      on.signal('offline', W2, 19_200);
    }),
    undefined,
    'it left after it had received the last question',
  );
  assert.equal(
    unseen((on) => {
      beat(on, [W1, W2], 19_000);
      on.ask(19_100, 'stats', [W1], 2);
      on.signal('offline', W2, 19_200);
      on.ask(19_300, 'active_queues', [W1], 2);
    }),
    undefined,
    'it left while it had the last question',
  );
  assert.equal(
    unseen((on) => {
      on.signal('heartbeat', W1, 19_000);
      for (let index = 0; index < 150_000; index += 1) on.evidence.noteReply(`x${index}@shop`);
      on.ask(19_100, 'stats', [W1], 150_002);
    }),
    undefined,
    'nobody knows',
  );
});

test('tasks do not show that task-sent events are off while the queues of a worker are not known, or after one left', () => {
  const receivedBeside = (others: readonly string[], left: readonly string[] = []) => {
    const on = watchCluster(1);
    for (const name of [W1, ...others]) on.signal('heartbeat', name, 0);
    on.ask(50, 'stats', [W1]);
    on.ask(50, 'active_queues', [W1]);
    for (const _ of Array(2)) on.evidence.noteDepths([{ queue: 'orders', length: 0 }]);
    // The broker delivers what it held to the next one.
    for (const name of left) on.signal('offline', name, 90);
    on.show(received({ hostname: W1 }), 100);
    return on.evidence.received;
  };
  assert.deepEqual([receivedBeside([]), receivedBeside([W2]), receivedBeside([], [W2])], [1, 0, 0]);
});

test('the tasks of workers that are not looked at do not count', () => {
  const on = watchCluster(1);
  on.signal('heartbeat', W1, 0);
  on.ask(50, 'active_queues', [W1]);
  for (const _ of Array(2)) on.evidence.noteDepths([{ queue: 'orders', length: 0 }]);
  for (let each = 0; each < 5; each += 1)
    on.show(received({ hostname: W2, uuid: `u${each}`, etaMs: T0_MS + 9e6 }), 100);
  for (const _ of Array(2)) on.show(failed('X', { hostname: W2 }), 200);
  on.show(succeeded({ hostname: W2, runtimeS: 4000 }), 300);
  const { received: count, failedTwice, runtimeMs, etaMs, etasBeyond } = on.evidence;
  assert.deepEqual([count, failedTwice, runtimeMs, etaMs, etasBeyond], [0, 0, 0, 0, 0]);
  on.show(sent(), 400);
  assert.equal(on.evidence.sent, 1, 'clients send these');
});

test('no reply of a worker that is not looked at reaches the cluster', () => {
  const on = watchCluster(1);
  on.signal('heartbeat', W1, 0);
  on.signal('heartbeat', W2, 0);
  const now = { wallMs: T0_MS, listenedMs: 100 };
  on.cluster.apply(signal('worker-heartbeat', { hostname: W2 }), T0_MS, 0);
  assert.deepEqual(
    [on.answers.consumes(W2, [], now), on.answers.workerRuns(W2, [], now), on.answers.workerHas(W2, [], now)],
    [false, false, false],
  );
});

test('of more workers than there is room for, the same ones are counted in all lines, whichever came last', () => {
  const on = watchCluster(3);
  const names = Array.from({ length: 5 }, (_, index) => `w${index}@shop`);
  for (const [round, order] of [names, names.toReversed(), names].entries()) {
    const ms = 1000 * round;
    for (const name of order) on.signal('heartbeat', name, ms);
    for (const command of ['stats', 'active_queues', 'active'] as const)
      on.ask(ms, command, order.toReversed());
  }
  assert.deepEqual(
    on.lines(3000, [{ queue: 'orders', length: 0 }]).filter((line) => /workers|queue/u.test(line)),
    [
      '3 workers: 3 sent heartbeats, 3 replied to remote control',
      'not checked, because workers_max is 3: 2 workers',
      'queue orders: 0 waiting, 3 or more consumers',
    ],
  );
});

test('a worker that has just left owes no reply', () => {
  const on = watchCluster(2);
  beat(on, [W1, W2], 3000);
  on.signal('offline', W2, 3100);
  for (const ms of [3200, 3300]) on.ask(ms, 'stats', [W1]);
  assert.ok(!on.lines(3400).some((line) => line.includes('did not reply')));
});

test('a worker that was heard, and is silent for long since, is told, and not said to have been stopped', () => {
  for (const [others, line] of [
    [[], 'no worker is up: w1@shop, w2@shop left or went silent'],
    [[W3], 'w1@shop went silent'],
  ] as const) {
    const on = watchCluster(3);
    beat(on, [W1, W2], 2000);
    on.signal('offline', W2, 2100);
    // Its last reply comes over another connection.
    on.ask(2200, 'stats', [W1, W2]);
    beat(on, others, 60_000);
    assert.deepEqual(
      on.lines(60_000).filter((each) => each.includes('silent')),
      [line],
    );
  }
});

test('a worker of which only the queues are known has replied, and is not said to be silent', () => {
  const on = watchCluster(2);
  on.signal('heartbeat', W1, 0);
  on.ask(100, 'stats', [W1], 2);
  on.ask(200, 'active_queues', [W1, W2], 2);
  assert.ok(
    on.lines(300).includes('1 more worker received the commands, but returned neither state nor heartbeat'),
  );
});
