/** What workers are asked where a reply that fails stops them for good: who is asked what, after which proof, and who is found to be deaf. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InspectionMemory } from '../../src/inspection/rounds.ts';
import { PLAIN_SETTINGS, type PlayedWorker, playFleet } from './fleet.ts';

const RANGE = { ...PLAIN_SETTINGS, broker_transport_options: { priority_steps: 'range(0, 10)' } };

const { broker_channel_error_retry: _, ...OLD_SETTINGS } = PLAIN_SETTINGS;

test('each worker proves that it can answer; one is asked for its statistics before the others', async (t) => {
  const fleet = playFleet(t, { 'w1@a': {}, 'w2@a': {} });
  await fleet.more(9);
  assert.deepEqual(fleet.questions.slice(0, 9), [
    'ping everybody',
    'conf w1@a w2@a',
    'stats w1@a',
    'stats w2@a',
    'active_queues w1@a w2@a',
    'active w1@a w2@a',
    'stats w1@a w2@a',
    'active_queues w1@a w2@a',
    'stats w1@a w2@a',
  ]);
  assert.deepEqual(fleet.withheld, []);
});

test('a new process proves it again, and so does one without heartbeats', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'w1@a': {}, 'quiet@a': { isUnknown: true } };
  const fleet = playFleet(t, workers, { commands: ['stats'] });
  await fleet.until(() => fleet.told.includes('quiet@a'));
  fleet.questions.length = 0;
  workers['w1@a'] = { process: {} };
  await fleet.until(() => fleet.questions.some((question) => question.startsWith('conf')));
  assert.deepEqual(
    fleet.questions.filter((question) => !question.startsWith('stats')),
    ['ping w1@a', 'conf w1@a'],
  );
});

for (const [title, worker, command, why] of [
  ['settings that JSON cannot encode', { settings: RANGE }, 'stats', 'setting'],
  ['replies in YAML', { contentType: 'application/x-yaml' }, 'anything', 'serializer'],
  ['replies in pickle', { contentType: 'application/x-python-serialize' }, 'anything', 'serializer'],
  ['Celery 5.1', { version: '5.1.2', settings: OLD_SETTINGS }, 'active', 'version'],
] as const) {
  test(`a worker with ${title} is not asked for ${command}, which is said once; others are`, async (t) => {
    const deafenedBy = command === 'anything' ? ['conf', 'stats', 'active_queues', 'active'] : [command];
    const odd: PlayedWorker = { ...worker, deafenedBy };
    const fleet = playFleet(t, { 'odd@a': odd, 'w1@a': {} });
    await fleet.until(() => fleet.told.filter((nodename) => nodename === 'w1@a').length > 3);
    assert.equal(odd.isDeaf, undefined);
    assert.deepEqual(
      fleet.withheld.map((refusal) => [refusal.worker, refusal.command, refusal.why.kind]),
      [['odd@a', command, why]],
    );
  });
}

test('two of three that reply in YAML are found one by one', async (t) => {
  const yaml = (): PlayedWorker => ({ contentType: 'application/x-yaml', deafenedBy: ['conf', 'stats'] });
  const workers = { 'y1@a': yaml(), 'y2@a': yaml(), 'w1@a': {}, 'gone@a': { isGone: true } };
  const fleet = playFleet(t, workers);
  await fleet.until(() => fleet.told.length > 3);
  assert.deepEqual(
    fleet.withheld.map(({ worker }) => worker),
    ['y1@a', 'y2@a'],
  );
  assert.deepEqual([workers['y1@a'].isDeaf, workers['y2@a'].isDeaf], [undefined, undefined]);
});

for (const [title, twin, command] of [
  ['replies in YAML', { contentType: 'application/x-yaml' }, 'anything'],
  ['has settings that JSON cannot encode', { settings: RANGE }, 'stats'],
] as const) {
  test(`of two workers with one name, one ${title}: the name is not asked for ${command}`, async (t) => {
    const fleet = playFleet(t, { 'w1@a': { twin: { settings: PLAIN_SETTINGS, ...twin } }, 'w2@a': {} });
    await fleet.until(() => fleet.told.filter((nodename) => nodename === 'w2@a').length > 3);
    assert.deepEqual(
      fleet.withheld.map((refusal) => [refusal.worker, refusal.command]),
      [['w1@a', command]],
    );
    assert.ok(!fleet.told.includes('w1@a'));
  });
}

test('two workers with one name that both can answer are asked, and prove it once', async (t) => {
  const fleet = playFleet(t, { 'w1@a': { twin: { settings: PLAIN_SETTINGS } } });
  await fleet.until(() => fleet.told.length > 3);
  assert.equal(fleet.questions.filter((question) => question.startsWith('conf')).length, 1);
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

test('if the first one goes deaf when asked for its statistics, no other is asked, in later sessions neither', async (t) => {
  const workers: Record<string, PlayedWorker> = {
    'w1@a': { deafenedBy: ['stats'] },
    'w2@a': { deafenedBy: ['stats'] },
  };
  const memory: InspectionMemory = { riskyAskedMs: new Map(), deafenedByStats: undefined };
  const fleet = playFleet(t, workers, { memory });
  await fleet.until(() => fleet.deaf.length > 0);
  await fleet.more(10);
  assert.deepEqual(fleet.deaf, ['w1@a is']);
  assert.deepEqual(
    fleet.withheld.map(({ worker, command, why }) => [worker, command, why.kind]),
    [['w1@a', 'stats', 'deaf']],
  );
  const next = playFleet(t, { 'w3@a': {} }, { memory });
  await next.more(5);
  assert.deepEqual(
    [...fleet.questions, ...next.questions].filter((question) => question.startsWith('stats')),
    ['stats w1@a'],
  );
});

test('a worker that others made deaf is found, until it is restarted; the poll without its reply is partial', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'w1@a': {}, 'w2@a': {}, 'mute@a': { isMute: true } };
  const fleet = playFleet(t, workers);
  await fleet.more(10);
  Object.assign(workers['w2@a'] ?? {}, { isDeaf: true });
  await fleet.until(() => fleet.deaf.length > 0);
  assert.deepEqual(fleet.deaf, ['w2@a is']);
  await fleet.until(() => fleet.asked.at(-1)?.command === 'stats');
  assert.deepEqual(fleet.asked.at(-1)?.outcome, 'partial');
  assert.match(fleet.asked.at(-1)?.reason ?? '', /no reply within 500 ms from w2@a/u);
  workers['w2@a'] = {};
  await fleet.until(() => fleet.deaf.length > 1);
  assert.deepEqual(fleet.deaf, ['w2@a is', 'w2@a is not']);
});

test('one that was deaf from the beginning is found, too, and one that replies in YAML', async (t) => {
  const yaml: PlayedWorker = { contentType: 'application/x-yaml' };
  const fleet = playFleet(t, { 'w1@a': { isDeaf: true }, 'w2@a': {}, 'yaml@a': yaml });
  await fleet.until(() => fleet.deaf.length > 0);
  await fleet.until(() => fleet.withheld.length > 0);
  yaml.isDeaf = true;
  await fleet.until(() => fleet.deaf.length > 1);
  assert.deepEqual(fleet.deaf, ['w1@a is', 'yaml@a is']);
});

test('a busy worker is not deaf, and does not hide one that is', async (t) => {
  const workers: Record<string, PlayedWorker> = { 'solo@a': {}, 'w1@a': {}, 'w2@a': {} };
  const fleet = playFleet(t, workers);
  await fleet.more(10);
  Object.assign(workers['solo@a'] ?? {}, { isBusy: true });
  await fleet.more(20);
  assert.deepEqual(fleet.deaf, []);
  Object.assign(workers['w2@a'] ?? {}, { isDeaf: true });
  await fleet.until(() => fleet.deaf.length > 0);
  assert.deepEqual(fleet.deaf, ['w2@a is']);
});
