/** What is live, ready and well, by the events of the bridge. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import SCHEMA from '../../schema/status.schema.json' with { type: 'json' };
import { type BoardOptions, StatusBoard } from '../../src/health/status-board.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import type { ServiceState } from '../../src/service/service-state.ts';
import { violations } from '../config/show/json-schema-subset.ts';

const OPTIONS: BoardOptions = {
  services: ['shop'],
  self: 'celery-otel',
  readiness: 'any',
  exportIntervalMs: 15_000,
  startedMs: 0,
};
const LASTED_MS = 60_000;
const TABLE = { size: 1, limit: 10, evicted: 0, bytes: 5, bytesMax: 100 };
const STATE: ServiceState = {
  name: 'shop',
  phase: 'listening',
  events: { received: 120, perS: 12, lagMs: 250 },
  workers: {
    known: 3,
    up: 2,
    deaf: 0,
    active: 4,
    gone: [],
    silent: [],
    silentCount: 0,
    leftCount: 1,
    quietS: 90,
  },
  queues: {
    ...{ polled: 2, waiting: 7, ageMs: 1500, unconsumed: [], consumed: 'celery' },
    ...{ consumedCount: 1, expiring: 0 },
  },
  tables: { tasks: TABLE, workers: TABLE, reordering_window: TABLE, clock_skews: TABLE },
};
const PROCESS = { version: '1.2.3', pid: 5, uptime_s: 60, cpu_s: 1.5, memory_bytes: 5_000_000 };
const of = { service: 'shop' } as const;
const CONNECTED: SelfEvent = { kind: 'broker-connected', ...of, broker: 'amqp://me:***@rabbit', attempts: 1 };
const REFUSED: SelfEvent = {
  ...{ kind: 'broker-session-ended', ...of, broker: 'amqp://me:***@rabbit', end: 'refused' },
  ...{ reason: 'ACCESS_REFUSED', retryInMs: 1000 },
};
const exported = (outcome: 'success' | 'partial' | 'failure', rejectedPoints = 0): SelfEvent => ({
  ...{ kind: 'export-finished', ...of, backend: 'http://collector:4317 (grpc)', outcome, durationMs: 5 },
  ...{ points: 10, rejectedPoints, reason: outcome === 'success' ? '' : 'ECONNREFUSED' },
});

function boardWith(events: readonly SelfEvent[], options: Partial<BoardOptions> = {}) {
  const board = new StatusBoard({ ...OPTIONS, ...options });
  for (const event of events) board.note(event, 1000);
  return board;
}

function documentOf(events: readonly SelfEvent[], nowMs = 2000, state: Partial<ServiceState> = {}) {
  const services = [{ ...STATE, ...state }];
  const board = boardWith(events);
  // Some problems are reported once they have lasted.
  board.look(services, nowMs - LASTED_MS);
  return board.document({ nowMs, time: new Date(0), services, process: PROCESS });
}

test('a service that connected, exports and answers is well', () => {
  const asked: SelfEvent = {
    ...{ kind: 'workers-asked', ...of, command: 'stats', outcome: 'success', reason: '', replies: {} },
  };
  assert.deepEqual(documentOf([CONNECTED, exported('success'), asked]), {
    version: 1,
    time: '1970-01-01T00:00:00.000Z',
    grade: 'fine',
    summary: 'Fine: 1 broker connected, 2 workers up, 1 queue consumed, last export 1 s ago.',
    live: true,
    ready: true,
    problems: [],
    process: PROCESS,
    exports: [],
    services: [
      {
        name: 'shop',
        details: '/services/0.json',
        phase: 'listening',
        grade: 'fine',
        as_of: null,
        broker: 'amqp://me:***@rabbit',
        connections: 1,
        events: { received: 120, per_second: 12, lag_s: 0.25, dropped: {} },
        workers: { known: 3, up: 2, deaf: 0, active: 4 },
        queues: { polled: 2, waiting: 7, age_s: 1.5 },
        tasks: null,
        control: { outcome: 'success', reason: '', age_s: 1 },
        poll: null,
        exports: [
          {
            signal: 'metrics',
            backend: 'http://collector:4317 (grpc)',
            outcome: 'success',
            reason: '',
            age_s: 1,
            items: 10,
            failures: 0,
            success_age_s: 1,
          },
        ],
        tables: Object.fromEntries(
          Object.keys(STATE.tables).map((name) => [name, { size: 1, limit: 10, evicted: 0 }]),
        ),
        instances: null,
        defects: 0,
        unknown: [],
      },
    ],
  });
});

/** The same schema, without room for keys that it does not describe. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]));
  return 'properties' in parts && 'required' in parts ? { additionalProperties: false, ...parts } : parts;
}

test('the document is as schema/status.schema.json says, with all of its keys', () => {
  const schema = closed(SCHEMA);
  assert.ok(typeof schema === 'object' && schema !== null);
  const failed: SelfEvent = { kind: 'worker-deaf', ...of, worker: 'w1@a' };
  for (const document of [
    documentOf([]),
    documentOf([CONNECTED, exported('success'), failed]),
    documentOf([REFUSED], 5, { workers: undefined, queues: undefined, phase: 'waiting' }),
  ])
    assert.deepEqual(violations({ ...schema }, JSON.parse(JSON.stringify(document))), []);
  assert.notDeepEqual(violations({ ...schema }, { ...documentOf([]), version: 2 }), []);
  assert.notDeepEqual(violations({ ...schema }, { ...documentOf([]), more: 2 }), []);
});

test('it is ready once any service or each has connected, and stays so, or only while all are connected', () => {
  const away = [{ ...STATE, phase: 'waiting' }] as const;
  assert.deepEqual(boardWith([]).ready(away), { ok: false, reason: 'not connected: shop' });
  assert.deepEqual(boardWith([REFUSED]).ready(away).ok, false, 'a wrong password');
  assert.deepEqual(boardWith([CONNECTED]).ready([STATE]), { ok: true });
  assert.deepEqual(boardWith([CONNECTED]).ready(away), { ok: true });
  assert.deepEqual(boardWith([CONNECTED], { readiness: 'connected' }).ready(away).ok, false);
  assert.deepEqual(boardWith([CONNECTED], { readiness: 'connected' }).ready([STATE]).ok, true);
  assert.deepEqual(boardWith([CONNECTED]).ready([]).ok, false, 'before the start');
  assert.deepEqual(boardWith([CONNECTED, { kind: 'service-stopping', ...of }]).ready([STATE]).ok, false);
  const services = ['shop', 'billing'];
  assert.deepEqual(boardWith([CONNECTED], { services }).ready([STATE]), { ok: true }, 'one wrong password');
  assert.deepEqual(boardWith([CONNECTED], { services, readiness: 'once' }).ready([STATE]), {
    ok: false,
    reason: 'not connected: billing',
  });
});

test('a backend that is away is live; exports that do not end are not', () => {
  const tenMinutes = 600_000;
  assert.deepEqual(boardWith([]).live(tenMinutes - 1), { ok: true });
  assert.deepEqual(boardWith([]).live(tenMinutes), { ok: false, reason: 'no export has ended for 600 s' });
  assert.deepEqual(boardWith([exported('failure')]).live(tenMinutes + 999), { ok: true });
  assert.deepEqual(boardWith([exported('failure')]).live(tenMinutes + 1000).ok, false);
  const hourly = { exportIntervalMs: 3_600_000 };
  assert.deepEqual(boardWith([], hourly).live(10 * 3_600_000 - 1), { ok: true });
  assert.deepEqual(boardWith([], { exportIntervalMs: undefined }).live(1e12), { ok: true });
  const { grade, live, summary } = documentOf([CONNECTED], tenMinutes);
  assert.deepEqual([grade, live], ['down', false]);
  assert.match(summary, /^Down: exporting is stuck: no export has ended for 600 s\. Restart celery-otel/u);
});

/** Events → the codes of the problems. */
const PROBLEMS: readonly (readonly [events: readonly SelfEvent[], codes: readonly string[]])[] = [
  [[REFUSED], ['broker-refused']],
  [[REFUSED, CONNECTED], []],
  [[{ ...REFUSED, end: 'unreachable', isTls: true }], ['broker-untrusted']],
  [[{ ...REFUSED, end: 'unreachable' }], ['broker-unreachable']],
  [[CONNECTED, { ...REFUSED, end: 'lost' }], ['connection-lost']],
  [[CONNECTED, { ...REFUSED, end: 'finished' }], []],
  [[exported('failure')], []],
  [[exported('failure'), exported('failure')], ['backend-unavailable']],
  [[exported('failure'), exported('failure'), exported('success')], []],
  [[exported('partial', 3)], ['backend-refuses']],
  [[exported('partial')], ['backend-warns']],
  [[{ kind: 'worker-deaf', ...of, worker: 'w1@a' }], ['worker-deaf']],
  [
    [
      { kind: 'worker-deaf', ...of, worker: 'w1@a' },
      { kind: 'worker-recovered', ...of, worker: 'w1@a' },
    ],
    [],
  ],
  [[{ kind: 'instances-changed', ...of, count: 2 }], ['exported-twice']],
  [[{ kind: 'instances-changed', ...of, count: 1 }], []],
  [[{ kind: 'events-missing', ...of, exchange: 'celeryev', forMs: 60_000, unread: 0 }], ['no-workers']],
  [[{ kind: 'task-events-missing', ...of, workers: ['w1@a'], more: 2 }], ['task-events-off']],
  [
    [
      { kind: 'task-events-missing', ...of, workers: ['w1@a'], more: 0 },
      { kind: 'task-events-resumed', ...of },
    ],
    [],
  ],
  [[{ kind: 'broker-polled', ...of, outcome: 'partial', reason: 'no' }], ['queues-unread']],
  [
    [{ kind: 'workers-asked', ...of, command: 'stats', outcome: 'failure', reason: 'no', replies: {} }],
    ['remote-control-failed'],
  ],
  [
    [{ kind: 'input-dropped', ...of, reason: 'unsafe-serializer', intentional: false, detail: 'x' }],
    ['events-unreadable'],
  ],
  [
    [{ kind: 'input-dropped', ...of, reason: 'arrived-too-fast', intentional: false, detail: '' }],
    ['events-shed'],
  ],
  [[{ kind: 'input-dropped', ...of, reason: 'unknown-event', intentional: true, detail: '' }], []],
];

for (const [events, codes] of PROBLEMS) {
  test(`${events.map(({ kind }) => kind).join(', ')}: ${codes.join(', ') || 'no problem'}`, () => {
    const { problems, grade, summary } = documentOf(
      [CONNECTED, ...events].slice(events[0]?.kind === 'broker-session-ended' ? 1 : 0),
    );
    assert.deepEqual(
      problems.map(({ code }) => code),
      codes,
    );
    for (const { line, remedy } of problems) {
      assert.doesNotMatch(line + remedy, /[{}`]|\]\(/u, 'no placeholder and no Markdown is left');
    }
    assert.equal(grade, problems[0]?.grade ?? (events.includes(REFUSED) ? grade : 'fine'));
    const word = problems[0]?.grade === 'down' ? 'Down' : 'Degraded';
    if (problems.length > 0) assert.ok(summary.startsWith(`${word}: shop: ${problems[0]?.line}.`), summary);
  });
}

test('that no worker is up is a problem, though producers go on sending', () => {
  const codesOf = (state: Partial<ServiceState>, upMs = 70_000) =>
    documentOf([CONNECTED, exported('success')], OPTIONS.startedMs + upMs, state).problems.map(
      ({ code }) => code,
    );
  const none = {
    known: 0,
    up: 0,
    deaf: 0,
    active: 0,
    gone: [],
    silent: [],
    silentCount: 0,
    leftCount: 0,
    quietS: 90,
  };
  const gone = { ...none, known: 2, gone: ['w1@a', 'w2@a'] };
  assert.deepEqual(codesOf({ workers: gone }), ['workers-gone']);
  assert.deepEqual(codesOf({ workers: { ...gone, up: 1 } }), []);
  const unpolled = { workers: none, queues: undefined };
  assert.deepEqual(codesOf(unpolled), ['no-workers']);
  assert.deepEqual(codesOf({ workers: none }), ['workers-hidden'], 'a queue is consumed');
  assert.deepEqual(codesOf(unpolled, 50_000), [], 'it has hardly listened');
  assert.deepEqual(codesOf({ workers: undefined }), [], 'it has not looked');
  for (const phase of ['waiting', 'stopped', 'finished'] as const)
    assert.deepEqual(codesOf({ workers: gone, phase }), [], phase);
  const { summary, grade } = documentOf([CONNECTED, exported('success')], 2000, { workers: gone });
  assert.match(
    summary,
    /^Down: shop: no worker is up: w1@a, w2@a left or went silent, and 7 messages wait\. Start them/u,
  );
  assert.equal(grade, 'down');
});

test('names under which tasks are sent and never seen on a worker are a problem', () => {
  const { problems } = documentOf([CONNECTED, exported('success')], 2000, {
    unseen: ['shop.quiet', 'shop.mute'],
  });
  assert.deepEqual(
    problems.map(({ code, line }) => [code, line]),
    [['tasks-unseen', 'sent and consumed, but no worker sent an event: shop.quiet, shop.mute']],
  );
});

test('a loss is a problem for ten minutes, and counted for good', () => {
  const lost: SelfEvent = {
    kind: 'input-dropped',
    ...of,
    reason: 'too-large',
    intentional: false,
    detail: '',
    count: 3,
  };
  const late = documentOf([CONNECTED, exported('success'), lost, lost], 601_001 - 2000);
  assert.deepEqual(
    late.problems.map(({ code }) => code),
    ['events-unreadable'],
  );
  const later = documentOf([CONNECTED, lost, lost], 601_001);
  assert.deepEqual(later.problems, []);
  assert.deepEqual(later.services[0]?.events.dropped, { 'too-large': 6 });
});

test('before the first export the summary says so', () => {
  assert.equal(
    documentOf([CONNECTED]).summary,
    'Fine: 1 broker connected, 2 workers up, 1 queue consumed, nothing has been exported yet.',
  );
});

test('as long as no event has arrived, the one line says so', () => {
  const events = { received: 0, perS: 0, lagMs: undefined };
  const summary = (more: Partial<ServiceState>) =>
    documentOf([CONNECTED, exported('success')], 2000, { events, ...more }).summary;
  assert.match(summary({}), /^Not known yet: 1 broker connected, no event of shop has arrived yet, /u);
  assert.match(summary({ phase: 'finished' }), /^Fine: all recordings have been replayed, /u);
  const services = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ ...STATE, name, events }));
  const connected = services.map(({ name }) => ({ ...CONNECTED, service: name }));
  const board = boardWith(connected, { services: services.map(({ name }) => name) });
  const document = board.document({ nowMs: 2000, time: new Date(0), services, process: PROCESS });
  assert.match(document.summary, /, no event of a, b, c and 2 more has arrived yet, /u);
  assert.deepEqual([document.grade, document.services[0]?.grade], ['unknown', 'unknown']);
});

test('the worst comes first, and hostile names are escaped', () => {
  const hostile = 'w\u001b[31m\n@a';
  const { problems, summary } = documentOf([
    CONNECTED,
    { kind: 'broker-polled', ...of, outcome: 'failure', reason: hostile },
    { kind: 'instances-changed', ...of, count: 2 },
    exported('failure'),
    exported('failure'),
  ]);
  assert.deepEqual(
    problems.map(({ grade }) => grade),
    ['down', 'degraded', 'degraded'],
  );
  assert.match(summary, / \(2 more: see problems\.\)$/u);
  const lines = problems.map(({ line }) => line).join('') + summary;
  assert.match(lines, /w\\u001b\[31m/u);
  assert.doesNotMatch(lines, /\p{Cc}/u);
});

test('names of deaf workers and problems are bounded', () => {
  const deaf = Array.from(
    { length: 500 },
    (_, index): SelfEvent => ({ kind: 'worker-deaf', ...of, worker: `w${index}` }),
  );
  const { problems } = documentOf([CONNECTED, ...deaf]);
  assert.match(problems[0]?.line ?? '', /^w0, w1, w2, w3, w4 and 95 more deaf/u);
  assert.deepEqual(problems[0]?.names.map(({ name }) => name).join(' '), 'w0 w1 w2 w3 w4');
});

test('a worker that fell silent, and a queue that nobody consumes, are problems beside others that are up', () => {
  const workers = {
    ...{ known: 3, up: 2, deaf: 0, active: 0, gone: ['w3@a'], silent: ['w3@a'] },
    ...{ silentCount: 1, leftCount: 0, quietS: 90 },
  };
  const queues = {
    ...{ polled: 2, waiting: 40, ageMs: 0, unconsumed: [{ queue: 'mails', length: 40 }] },
    ...{ consumed: undefined, consumedCount: 0, expiring: 0 },
  };
  const events = [CONNECTED, exported('success')];
  assert.deepEqual(
    documentOf(events, 2000, { workers, queues }).problems.map(({ grade, line, names }) => [
      grade,
      line,
      names,
    ]),
    [
      ['degraded', 'w3@a went silent', [{ kind: 'worker', name: 'w3@a' }]],
      [
        ...['degraded', 'queue mails: 40 waiting, and no worker consumes it'],
        [{ kind: 'queue', name: 'mails' }],
      ],
    ],
  );
  assert.deepEqual(documentOf(events, 2000, { workers, queues, phase: 'waiting' }).problems, []);
});

test('failures and losses of the last minutes are those of all tasks, with a name or without', () => {
  const troubles = { spanMs: 60_000, tasks: [], failed: 5, lost: 1, crashes: [], eventsLost: [] };
  assert.deepEqual(documentOf([CONNECTED], 2000, { troubles }).services[0]?.tasks, { failed: 5, lost: 1 });
});

test('what workers are not asked is no problem, and not known, until they are restarted or leave', () => {
  const skipped = (why: SelfEvent<'command-skipped'>['why']): SelfEvent => ({
    ...{ kind: 'command-skipped', ...of, worker: 'w1@a', why },
    commands: why.kind === 'over' ? [] : ['stats'],
  });
  const old = skipped({ kind: 'version', version: '5.5.3' });
  const { problems, services } = documentOf([CONNECTED, old, old]);
  assert.deepEqual(
    [problems, services[0]?.unknown.map(({ line }) => line)],
    [[], ['unknown for w1@a: pools; Celery 5.5.3 on Redis does not get stats']],
  );
  const failed = skipped({ kind: 'unanswered' });
  assert.deepEqual(
    documentOf([CONNECTED, failed]).services[0]?.unknown.map(({ code }) => code),
    ['reply-failed'],
  );
  const over = documentOf([CONNECTED, old, failed, skipped({ kind: 'over' })]);
  assert.deepEqual([over.problems, over.services[0]?.unknown], [[], []]);
});

test('all workers that are not asked are counted, and a few are named', () => {
  const refused = (index: number, why: SelfEvent<'command-skipped'>['why']): SelfEvent => ({
    ...{ kind: 'command-skipped', ...of, worker: `w${index}@a`, why },
    commands: ['stats'],
  });
  const all = Array.from({ length: 250 }, (_, index) =>
    refused(index, { kind: 'version', version: '5.5.3' }),
  );
  const lines = (events: readonly SelfEvent[]) =>
    documentOf([CONNECTED, ...events]).services[0]?.unknown.map(({ line }) => line.split(':')[0]);
  const five = 'w0@a, w1@a, w2@a, w3@a, w4@a';
  assert.deepEqual(lines(all), [`unknown for ${five} and 245 more`]);
  const left = [...all, refused(249, { kind: 'over' }), refused(17, { kind: 'over' })];
  assert.deepEqual(lines(left), [`unknown for ${five} and 243 more`]);
});

test('an export without points arrives nowhere', () => {
  const empty: SelfEvent = {
    ...{ kind: 'export-finished', ...of, backend: 'http://nowhere', outcome: 'success', durationMs: 0 },
    ...{ points: 0, rejectedPoints: 0, reason: '' },
  };
  const { summary, services } = documentOf([CONNECTED, empty]);
  assert.match(summary, /nothing has been exported yet/u);
  assert.deepEqual(services[0]?.exports, []);
});

test('what services share is one problem, with its beginning; a cause of its own is another', () => {
  const services = ['a', 'b', 'c', 'd'];
  const states = services.map((name) => ({ ...STATE, name, phase: 'waiting' as const }));
  const away = (
    service: string,
    reason: string,
    end: SelfEvent<'broker-session-ended'>['end'] = 'unreachable',
  ): SelfEvent => ({
    ...{ kind: 'broker-session-ended', service, broker: `amqp://${service}:***@rabbit//${service}` },
    ...{ end, reason, retryInMs: 1000 },
  });
  const board = boardWith(
    [...['a', 'b', 'c'].map((name) => away(name, 'ECONNREFUSED')), away('d', 'ACCESS_REFUSED', 'refused')],
    { services },
  );
  board.look(states, 5000);
  const time = new Date(65_000);
  const { problems } = board.document({ nowMs: 65_000, time, services: states, process: PROCESS });
  assert.deepEqual(
    problems.map(({ line, services: named, service_count, since }) => [line, named, service_count, since]),
    [
      ['amqp://rabbit cannot be reached: ECONNREFUSED', ['a', 'b', 'c'], 3, '1970-01-01T00:00:05.000Z'],
      ['amqp://d:***@rabbit//d refuses the connection: ACCESS_REFUSED', ['d'], 1, '1970-01-01T00:00:05.000Z'],
    ],
  );
});

test('a problem that is over and comes back begins again; one that lasts keeps its beginning', () => {
  const board = boardWith([CONNECTED, { kind: 'instances-changed', ...of, count: 2 }]);
  const sinceAt = (nowMs: number) =>
    board.document({ nowMs, time: new Date(nowMs), services: [STATE], process: PROCESS }).problems[0]?.since;
  assert.equal(sinceAt(2000), '1970-01-01T00:00:02.000Z');
  assert.equal(sinceAt(9000), '1970-01-01T00:00:02.000Z');
  board.note({ kind: 'instances-changed', ...of, count: 1 }, 10_000);
  assert.equal(sinceAt(11_000), undefined);
  board.note({ kind: 'instances-changed', ...of, count: 2 }, 12_000);
  assert.equal(sinceAt(13_000), '1970-01-01T00:00:13.000Z');
});

test('what was true before the broker went away is marked as of then', () => {
  const lost: SelfEvent = {
    ...{ kind: 'broker-session-ended', ...of, broker: 'amqp://me:***@rabbit', end: 'lost' },
    ...{ reason: 'ECONNRESET', retryInMs: 1000 },
  };
  const board = boardWith([CONNECTED]);
  board.note(lost, 20_000);
  board.note(REFUSED, 30_000);
  const at = (state: ServiceState) =>
    board.document({ nowMs: 40_000, time: new Date(40_000), services: [state], process: PROCESS });
  const { services } = at({ ...STATE, phase: 'waiting' });
  assert.equal(services[0]?.as_of, '1970-01-01T00:00:20.000Z');
  board.note(CONNECTED, 41_000);
  assert.equal(at(STATE).services[0]?.as_of, null);
});
