/** Who is asked what: never what could stop a worker, nor again what it did not reply to. And who is found to be deaf. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newMemory } from '../../../src/service/inspection/inspection-options.ts';
import { type PlayedWorker, playFleet } from './fleet.ts';

const NAMED = ['stats', 'active_queues', 'active'] as const;
/** Of most tests of deafness: its questions may stop it. */
const OLD = { version: '5.5.3' } as const;

/** The commands that were asked of a worker, each once. */
function askedOf(nodename: string, questions: readonly string[]): readonly string[] {
  const own = questions.filter((question) => question.split(' ').includes(nodename));
  return [...new Set(own.map((question) => question.split(' ')[0] ?? ''))].toSorted();
}

test('on Redis one worker is asked before the others what may stop it, and then all with each round', async (t) => {
  const fleet = playFleet(t, { 'w1@a': {}, 'w2@a': {} });
  await fleet.more(9);
  assert.deepEqual(fleet.questions.slice(0, 9), [
    'ping everybody',
    'stats w1@a',
    'stats w2@a',
    'active_queues w1@a',
    'active_queues w2@a',
    'active w1@a w2@a',
    'stats w1@a w2@a',
    'active_queues w1@a w2@a',
    'stats w1@a w2@a',
  ]);
  assert.deepEqual(fleet.skipped, []);
});

test('elsewhere everybody is pinged with every fourth round, and asked by name', async (t) => {
  const fleet = playFleet(
    t,
    { 'w1@a': { version: '4.4.7' }, 'quiet@a': { isUnknown: true } },
    { isOnRedis: false },
  );
  await fleet.more(13);
  const round = ['stats w1@a quiet@a', 'active_queues w1@a quiet@a'];
  assert.deepEqual(fleet.questions.slice(0, 13), [
    'ping everybody',
    ...round,
    'active w1@a quiet@a',
    ...[...round, ...round, ...round],
    'ping everybody',
    ...round,
  ]);
});

for (const [version, isOnRedis, commands, expected] of [
  ['4.4.7', true, 'auto', ['ping']],
  ['5.1.2', true, 'auto', ['ping']],
  ['5.2.6', true, 'auto', ['active', 'ping']],
  ['5.6.3', true, 'auto', ['active', 'ping']],
  ['5.7.0', true, 'auto', ['active', 'active_queues', 'ping', 'stats']],
  ['5.10.0', true, 'auto', ['active', 'active_queues', 'ping', 'stats']],
  ['6.0.0rc1', true, 'auto', ['active', 'active_queues', 'ping', 'stats']],
  ['', true, 'auto', ['ping']],
  ['5.7', true, 'auto', ['active', 'active_queues', 'ping', 'stats']],
  ['5.70000', true, 'auto', ['ping']],
  ['v5.7.0', true, 'auto', ['ping']],
  ['5.1.2', true, NAMED, ['active', 'active_queues', 'ping', 'stats']],
  ['5.5.3', true, ['stats'], ['ping', 'stats']],
  ['4.4.7', false, 'auto', ['active', 'active_queues', 'ping', 'stats']],
] as const) {
  const where = isOnRedis ? 'on Redis' : 'on RabbitMQ';
  test(`Celery ${version || 'of an unknown version'} ${where}, with ${String(commands)}, is asked for ${expected.join(' and ')}`, async (t) => {
    const fleet = playFleet(t, { 'w1@a': { version }, 'w2@a': {} }, { isOnRedis, commands });
    await fleet.until(() => fleet.reported.filter((nodename) => nodename === 'w2@a').length > 4);
    const named = fleet.questions.map((question) => question.replace('everybody', 'w1@a w2@a'));
    assert.deepEqual(askedOf('w1@a', named), expected);
    if (version === '') return;
    const missing = commands === 'auto' ? NAMED.filter((each) => !expected.some((it) => it === each)) : [];
    assert.deepEqual(
      fleet.skipped,
      missing.length === 0 ? [] : [{ worker: 'w1@a', commands: missing, why: { kind: 'version', version } }],
    );
  });
}

test('on Redis a worker without heartbeats is pinged in each round, and said to be asked nothing else, up or not', async (t) => {
  const quiet: PlayedWorker = { version: '' };
  const unseen: PlayedWorker = { isUnknown: true };
  const fleet = playFleet(t, { 'quiet@a': quiet, 'unseen@a': unseen, 'w1@a': OLD });
  await fleet.until(() => fleet.lives.filter((nodename) => nodename === 'quiet@a').length > 3);
  assert.deepEqual(askedOf('quiet@a', fleet.questions), ['ping']);
  assert.deepEqual(askedOf('w1@a', fleet.questions), ['active']);
  await fleet.until(() => fleet.skipped.length > 2);
  const why = { kind: 'version', version: '' };
  const unasked = fleet.skipped.filter(({ worker }) => worker !== 'w1@a');
  assert.deepEqual(
    unasked.toSorted((a, b) => a.worker.localeCompare(b.worker)),
    ['quiet@a', 'unseen@a'].map((worker) => ({ worker, commands: [...NAMED], why })),
  );
});

test('of two workers with one name, that of the older Celery decides', async (t) => {
  const fleet = playFleet(t, { 'w1@a': { twin: OLD }, 'w2@a': {} });
  await fleet.until(() => fleet.reported.length > 3);
  assert.deepEqual(askedOf('w1@a', fleet.questions), ['active']);
});

for (const isOnRedis of [true, false]) {
  const where = isOnRedis ? 'on Redis' : 'on RabbitMQ';
  test(`what a worker ${where} does not reply to is asked once of its process, in later sessions neither`, async (t) => {
    const workers: Record<string, PlayedWorker> = {
      'odd@a': { failsAt: ['active_queues'], process: {} },
      'w1@a': {},
    };
    const memory = newMemory();
    const fleet = playFleet(t, workers, { memory, isOnRedis });
    await fleet.until(() => fleet.reported.filter((nodename) => nodename === 'odd@a').length > 3);
    fleet.stop();
    const next = playFleet(t, workers, { memory, isOnRedis });
    await next.until(() => next.reported.filter((nodename) => nodename === 'odd@a').length > 3);
    const questions = [...fleet.questions, ...next.questions];
    const toOdd = () => questions.filter((each) => /^active_queues .*odd@a/u.test(each)).length;
    assert.equal(toOdd(), 1);
    assert.deepEqual(fleet.skipped, [
      { worker: 'odd@a', commands: ['active_queues'], why: { kind: 'unanswered' } },
    ]);
    assert.ok(askedOf('w1@a', fleet.questions).includes('active_queues'));
    // Another process is asked again.
    workers['odd@a'] = { process: {} };
    await next.until(() => next.questions.some((each) => /^active_queues .*odd@a/u.test(each)));
  });
}

test('if the first one does not reply and goes on, the others are asked one after the other', async (t) => {
  const failsAt = ['stats'];
  const fleet = playFleet(t, { 'w1@a': { failsAt }, 'w2@a': { failsAt }, 'w3@a': {} });
  await fleet.until(() => fleet.reported.filter((nodename) => nodename === 'w3@a').length > 3);
  const stats = fleet.questions.filter((question) => question.startsWith('stats'));
  assert.deepEqual(new Set(stats), new Set(['stats w1@a', 'stats w2@a', 'stats w3@a']));
  assert.deepEqual([stats.indexOf('stats w1@a'), stats.lastIndexOf('stats w1@a')], [0, 0]);
});

test('a worker that was only busy, or late, is asked again; one that replied before has three chances', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'w1@a': { process: {} } };
  const fleet = playFleet(t, workers, { isOnRedis: false, commands: ['stats'] });
  await fleet.until(() => fleet.reported.length > 0);
  Object.assign(workers['w1@a'] ?? {}, { isBusy: true });
  fleet.questions.length = 0;
  await fleet.more(12);
  const busy = fleet.questions.filter((each) => each === 'stats w1@a').length;
  assert.ok(busy <= 1, 'only pings until it replies');
  Object.assign(workers['w1@a'] ?? {}, { isBusy: false });
  fleet.reported.length = 0;
  await fleet.until(() => fleet.reported.length > 0);
  // Its replies come after the wait.
  Object.assign(workers['w1@a'] ?? {}, { failsAt: ['stats'] });
  fleet.questions.length = 0;
  await fleet.until(() => fleet.skipped.length > 0);
  await fleet.more(5);
  assert.equal(fleet.questions.filter((each) => each === 'stats w1@a').length, 3);
});

test('a reply that comes with that to the ping is no sign of a failure', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'w1@a': { failsAt: ['stats'] } };
  const fleet = playFleet(t, workers, { isOnRedis: false, commands: ['stats'] });
  const stats = () => fleet.questions.filter((each) => each === 'stats w1@a').length;
  fleet.onQuestion((question) => {
    if (question.startsWith('ping w1@a')) fleet.replyLate();
  });
  await fleet.until(() => stats() > 1);
  assert.deepEqual(fleet.skipped, []);
  // But not for ever: it may be that of another worker.
  await fleet.until(() => fleet.skipped.length > 0);
  assert.equal(stats(), 3);
});

test('a new process is pinged again, and so is one without heartbeats', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'w1@a': {}, 'quiet@a': { isUnknown: true } };
  const fleet = playFleet(t, workers, { commands: ['stats'] });
  await fleet.until(() => fleet.reported.includes('quiet@a'));
  fleet.questions.length = 0;
  workers['w1@a'] = { process: {} };
  await fleet.until(() => fleet.questions.includes('ping w1@a'));
  assert.deepEqual(
    fleet.questions.filter((question) => !question.startsWith('stats')),
    ['ping w1@a'],
  );
});

for (const isOnRedis of [true, false]) {
  for (const contentType of ['application/x-yaml', 'application/x-python-serialize']) {
    test(`a worker with replies in ${contentType} is asked for nothing, which is reported once; others are asked`, async (t) => {
      const odd: PlayedWorker = { contentType, deafenedBy: NAMED };
      const fleet = playFleet(t, { 'odd@a': odd, 'w1@a': {} }, { isOnRedis, commands: NAMED });
      await fleet.until(() => fleet.reported.filter((nodename) => nodename === 'w1@a').length > 8);
      assert.equal(odd.isDeaf, undefined);
      assert.deepEqual(
        fleet.skipped.map(({ worker, why }) => [worker, why.kind]),
        [['odd@a', 'serializer']],
      );
    });
  }
}

test('two of three that reply in YAML are found one by one', async (t) => {
  const yaml = (): PlayedWorker => ({ contentType: 'application/x-yaml', deafenedBy: NAMED });
  const workers = { 'y1@a': yaml(), 'y2@a': yaml(), 'w1@a': {}, 'gone@a': { isGone: true } };
  const fleet = playFleet(t, workers);
  await fleet.until(() => fleet.reported.length > 3);
  assert.deepEqual(
    fleet.skipped.map(({ worker }) => worker),
    ['y1@a', 'y2@a'],
  );
  assert.deepEqual([workers['y1@a'].isDeaf, workers['y2@a'].isDeaf], [undefined, undefined]);
});

test('of two workers with one name, one replies in YAML: the name does not get anything', async (t) => {
  const fleet = playFleet(t, { 'w1@a': { twin: { contentType: 'application/x-yaml' } }, 'w2@a': {} });
  await fleet.until(() => fleet.reported.filter((nodename) => nodename === 'w2@a').length > 3);
  assert.deepEqual(
    fleet.skipped.map(({ worker, why }) => [worker, why.kind]),
    [['w1@a', 'serializer']],
  );
  assert.ok(!fleet.reported.includes('w1@a'));
});

test('a worker that comes when nothing is left to ask is found by its heartbeats', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'w1@a': {} };
  const fleet = playFleet(t, workers, { commands: ['active'] });
  await fleet.until(() => fleet.questions.includes('active w1@a'));
  workers['w2@a'] = {};
  await fleet.until(() => fleet.questions.includes('active w2@a'));
  workers['mute@a'] = { isMute: true };
  workers['w3@a'] = {};
  await fleet.until(() => fleet.questions.includes('active w3@a'));
  assert.ok(fleet.asked.every(({ outcome }) => outcome === 'success'));
});

test('a mailbox without a worker is pinged three times, and not missed', async (t) => {
  const fleet = playFleet(t, { 'gone@a': { isGone: true }, 'w1@a': {} });
  await fleet.more(30);
  assert.deepEqual(
    fleet.questions.filter((question) => question.startsWith('ping')),
    ['ping everybody', 'ping gone@a', 'ping gone@a'],
  );
  assert.ok(fleet.asked.every(({ outcome }) => outcome === 'success'));
});

test('without workers everybody is asked with each round, which reaches nobody', async (t) => {
  const fleet = playFleet(t, {});
  await fleet.more(4);
  assert.deepEqual(new Set(fleet.questions), new Set(['ping everybody']));
  assert.deepEqual(fleet.asked[3], {
    ...{ command: 'ping', outcome: 'success', reason: '', replies: {}, receivers: 0 },
  });
});

for (const command of ['stats', 'active_queues'] as const) {
  test(`if the first one goes deaf when asked for ${command}, no other is asked, in later sessions neither`, async (t) => {
    const workers: Record<string, PlayedWorker> = {
      'w1@a': { ...OLD, deafenedBy: [command] },
      'w2@a': { ...OLD, deafenedBy: [command] },
    };
    const memory = newMemory();
    const fleet = playFleet(t, workers, { memory, commands: NAMED });
    await fleet.until(() => fleet.deaf.length > 0);
    await fleet.more(10);
    assert.deepEqual(fleet.deaf, ['w1@a is']);
    assert.deepEqual(fleet.skipped, [{ worker: 'w1@a', commands: [command], why: { kind: 'deaf' } }]);
    fleet.stop();
    assert.deepEqual(fleet.deaf, ['w1@a is', 'w1@a is not'], 'it may connect again, and is judged anew');
    const next = playFleet(t, { 'w3@a': OLD }, { memory, commands: NAMED });
    await next.more(5);
    assert.deepEqual(next.skipped, fleet.skipped, 'which is reported again');
    assert.deepEqual(
      [...fleet.questions, ...next.questions].filter((question) => question.startsWith(command)),
      [`${command} w1@a`],
    );
  });
}

test('a worker that others made deaf is found, until it is restarted; the ping without its reply is partial', async (t) => {
  const workers: Record<string, PlayedWorker> = {
    'w1@a': OLD,
    'w2@a': { ...OLD },
    'mute@a': { isMute: true },
  };
  const fleet = playFleet(t, workers, { commands: NAMED });
  await fleet.more(10);
  Object.assign(workers['w2@a'] ?? {}, { isDeaf: true });
  await fleet.until(() => fleet.deaf.length > 0);
  assert.deepEqual(fleet.deaf, ['w2@a is']);
  await fleet.until(() => fleet.asked.at(-1)?.command === 'ping');
  assert.deepEqual(fleet.asked.at(-1)?.outcome, 'partial');
  assert.match(fleet.asked.at(-1)?.reason ?? '', /no reply within 500 ms from w2@a/u);
  workers['w2@a'] = { ...OLD };
  await fleet.until(() => fleet.deaf.length > 1);
  assert.deepEqual(fleet.deaf, ['w2@a is', 'w2@a is not']);
});

test('one that was deaf from the beginning is found, too, and one that replies in YAML', async (t) => {
  const yaml: PlayedWorker = { ...OLD, contentType: 'application/x-yaml' };
  const fleet = playFleet(
    t,
    { 'w1@a': { ...OLD, isDeaf: true }, 'w2@a': { ...OLD }, 'yaml@a': yaml },
    { commands: NAMED },
  );
  await fleet.until(() => fleet.deaf.length > 0);
  await fleet.until(() => fleet.skipped.length > 0);
  yaml.isDeaf = true;
  await fleet.until(() => fleet.deaf.length > 1);
  assert.deepEqual(fleet.deaf, ['w1@a is', 'yaml@a is']);
});

test('a busy worker is not deaf, and does not hide one that is', async (t) => {
  const workers: Record<string, PlayedWorker> = {
    'solo@a': { ...OLD },
    'w1@a': { ...OLD },
    'w2@a': { ...OLD },
  };
  const fleet = playFleet(t, workers, { commands: NAMED });
  await fleet.more(10);
  Object.assign(workers['solo@a'] ?? {}, { isBusy: true });
  await fleet.more(20);
  assert.deepEqual(fleet.deaf, []);
  Object.assign(workers['w2@a'] ?? {}, { isDeaf: true });
  await fleet.until(() => fleet.deaf.length > 0);
  assert.deepEqual(fleet.deaf, ['w2@a is']);
});

test('one whose every reply fails is pinged less and less; no one calls it deaf whose version cannot be', async (t) => {
  const failsAt = ['ping', ...NAMED];
  const fleet = playFleet(t, { 'odd@a': { failsAt, version: '5.7.0' }, 'w1@a': { version: '5.7.0' } });
  await fleet.until(() => fleet.reported.filter((nodename) => nodename === 'w1@a').length >= 60);
  const pings = fleet.questions.filter((each) => each.startsWith('ping'));
  assert.ok(pings.length >= 4 && pings.length <= 8, String(pings.length));
  assert.deepEqual(fleet.deaf, []);
});

test('a worker that sends no heartbeats for a while is the same, and not asked again what it did not reply to', async (t) => {
  const odd: { isUnknown: boolean } & PlayedWorker = { failsAt: ['stats'], isUnknown: false, process: {} };
  const fleet = playFleet(t, { 'odd@a': odd, 'w1@a': {} }, { isOnRedis: false, commands: ['stats'] });
  await fleet.until(() => fleet.skipped.length > 0);
  for (const isUnknown of [true, false, true, false]) {
    odd.isUnknown = isUnknown;
    await fleet.more(8);
  }
  assert.equal(fleet.questions.filter((each) => /^stats .*odd@a/u.test(each)).length, 1);
});
