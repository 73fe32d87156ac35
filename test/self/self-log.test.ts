import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { LogLevel } from '../../src/self/log-level.ts';
import { logLine } from '../../src/self/log-line.ts';
import { boundedLines } from '../../src/self/log-rate.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { createSelfLog } from '../../src/self/self-log.ts';
import { HOSTILE, UNPRINTABLE } from '../hostile-text.ts';

const DROPPED: SelfEvent = {
  kind: 'input-dropped',
  service: 'shop',
  reason: 'invalid-json',
  intentional: false,
  detail: '12 characters',
};

const EXPORTED = {
  kind: 'export-finished',
  service: 'shop',
  backend: 'http://collector:4317 (grpc)',
  durationMs: 12.3,
  points: 40,
  rejectedPoints: 0,
  reason: 'out of order',
} as const;

const BATCH = {
  ...({ kind: 'batch-finished', service: 'celery-otel', signal: 'traces', durationMs: 12.3 } as const),
  ...{ backend: 'http://collector:4317 (grpc)', items: 512, rejectedItems: 0, reason: 'too old' },
};
const DROPPED_SPANS = { kind: 'items-dropped', service: 'shop', signal: 'traces', count: 3 } as const;

const ASKED = { kind: 'workers-asked', service: 'shop', command: 'stats', replies: {} } as const;

/** One event of each kind, each end of a session and each outcome of an export. */
const EVENTS: readonly { event: SelfEvent; level: string; says: RegExp }[] = [
  { event: { kind: 'service-stopping', service: 'shop' }, level: 'info', says: /stopping shop/u },
  {
    event: { kind: 'service-started', service: 'shop', brokers: ['amqp://u:***@h'] },
    level: 'info',
    says: /^starting shop: connecting to amqp:\/\/u:\*\*\*@h$/u,
  },
  {
    event: { kind: 'service-stopped', service: 'shop', metrics: 'flushed' },
    level: 'info',
    says: /everything counted was exported/u,
  },
  {
    event: { kind: 'service-stopped', service: 'shop', metrics: 'empty' },
    level: 'info',
    says: /^stopped shop; there was nothing to export$/u,
  },
  {
    event: { kind: 'service-stopped', service: 'shop', metrics: 'rejected' },
    level: 'warn',
    says: /^stopped shop; the backend rejected points of its last export permanently$/u,
  },
  {
    event: { kind: 'service-stopped', service: 'shop', metrics: 'unsent' },
    level: 'warn',
    says: /^stopped shop; its last export did not arrive$/u,
  },
  {
    event: { kind: 'service-stopped', service: 'shop', metrics: 'never-exported' },
    level: 'warn',
    says: /^stopped shop; none of its exports ever arrived$/u,
  },
  {
    event: { kind: 'broker-connected', service: 'shop', broker: 'b', attempts: 1 },
    level: 'info',
    says: /^connected to b; listening for shop$/u,
  },
  {
    event: { kind: 'broker-connected', service: 'shop', broker: 'b', exchange: 'celeryev', attempts: 1 },
    level: 'info',
    says: /^connected to b; listening for shop on the exchange "celeryev"$/u,
  },
  {
    event: { kind: 'exchange-made', service: 'shop', broker: 'b', exchange: 'shopev' },
    level: 'warn',
    says: /^created the exchange "shopev" at b, .*no worker has connected yet, or the workers use another event_exchange or virtual host/u,
  },
  {
    event: { kind: 'publish-blocked', service: 'shop', broker: 'b', reason: 'low on memory' },
    level: 'warn',
    says: /^b blocks publishers: low on memory; heartbeat timeouts are paused$/u,
  },
  {
    event: { kind: 'publish-unblocked', service: 'shop', broker: 'b', reason: '' },
    level: 'info',
    says: /^b no longer blocks publishers$/u,
  },
  {
    event: { kind: 'publish-refused', service: 'shop', broker: 'b', reason: '403' },
    level: 'info',
    says: /^cannot see whether b blocks publishers, so busy workers may be reported lost: 403$/u,
  },
  {
    event: { kind: 'broker-polled', service: 'shop', outcome: 'success', reason: '' },
    level: 'debug',
    says: /^polled the broker of shop$/u,
  },
  {
    event: { kind: 'broker-polled', service: 'shop', outcome: 'partial', reason: 'NOPERM' },
    level: 'warn',
    says: /^the broker did not report everything about the queues of shop: NOPERM$/u,
  },
  {
    event: { kind: 'broker-polled', service: 'shop', outcome: 'failure', reason: 'gone' },
    level: 'warn',
    says: /^the broker reported nothing about the queues of shop: gone$/u,
  },
  {
    event: { kind: 'workers-endangered', service: 'shop', commands: ['reserved', 'scheduled'] },
    level: 'warn',
    says: /^control_commands of shop contains reserved and scheduled: .* a worker .* consumes no more tasks until it is restarted/u,
  },
  {
    event: { ...ASKED, outcome: 'success', reason: '' },
    level: 'debug',
    says: /^sent stats to the workers of shop$/u,
  },
  {
    event: { ...ASKED, outcome: 'partial', reason: 'no reply within 1000 ms from w1@a' },
    level: 'info',
    says: /^sent stats to the workers of shop: no reply within 1000 ms from w1@a$/u,
  },
  {
    event: { ...ASKED, outcome: 'failure', reason: 'gone' },
    level: 'warn',
    says: /^could not send stats to the workers of shop: gone$/u,
  },
  {
    event: { kind: 'events-missing', service: 'shop', exchange: 'shopev', forMs: 60_400, unread: 0 },
    level: 'warn',
    says: /no event has arrived for 60 s: either no worker is running, .*another broker, virtual host or event_exchange \(here "shopev"\), .*--without-heartbeat and without -E$/u,
  },
  {
    event: { kind: 'events-missing', service: 'shop', exchange: 'shopev', forMs: 60_400, unread: 7 },
    level: 'warn',
    says: /^connected, but no event has arrived for 60 s that could be read: 7 messages arrived; celery_otel.input.dropped shows/u,
  },
  {
    event: { kind: 'events-resumed', service: 'shop', afterMs: 75_000 },
    level: 'info',
    says: /^events are arriving again after 75 s$/u,
  },
  {
    event: { kind: 'task-events-missing', service: 'shop', workers: ['w1@a'], more: 0 },
    level: 'warn',
    says: /^the workers "w1@a" run tasks but send no task events.*celery worker -E.*worker_send_task_events = True.*celery control enable_events/u,
  },
  {
    event: { kind: 'task-events-missing', service: 'shop', workers: ['w1@a', 'w\n2@a'], more: 40 },
    level: 'warn',
    says: /^the workers "w1@a", "w\\n2@a" and 40 more run tasks/u,
  },
  {
    event: { kind: 'task-events-resumed', service: 'shop' },
    level: 'info',
    says: /^all workers that run tasks send task events again/u,
  },
  {
    event: { kind: 'clock-stepped', service: 'celery-otel', byMs: -3_600_000 },
    level: 'warn',
    says: /^the clock was set back by 3600 s: ages, lags and waiting times/u,
  },
  {
    event: { kind: 'clock-stepped', service: 'celery-otel', byMs: 3000 },
    level: 'warn',
    says: /^the clock was set forward by 3 s, or the machine was suspended: ages/u,
  },
  { event: ended('lost', 0), level: 'warn', says: /it broke; reconnecting$/u },
  {
    event: { ...ended('refused', 0), isElsewhere: true },
    level: 'warn',
    says: /it broke; trying the next address$/u,
  },
  { event: ended('unreachable', 4000), level: 'warn', says: /retrying within 4 s/u },
  { event: ended('refused', 2000), level: 'warn', says: /it broke/u },
  { event: ended('unusable', undefined), level: 'error', says: /giving up/u },
  { event: ended('finished', undefined), level: 'info', says: /no more messages/u },
  { event: ended('stopped', undefined), level: 'debug', says: /stopped/u },
  { event: DROPPED, level: 'warn', says: /not counted: invalid-json \(12 characters\)/u },
  { event: { ...DROPPED, intentional: true }, level: 'debug', says: /invalid-json/u },
  {
    event: {
      kind: 'field-implausible',
      service: 'shop',
      field: 'processed',
      detail: 'above 1000000000000 {task}',
    },
    level: 'warn',
    says: /^ignored the field processed of an event: it is above 1000000000000 \{task\}$/u,
  },
  {
    event: evicted('tasks'),
    level: 'warn',
    says: /^unfinished tasks were evicted: 3; raise tasks_max, or, if no task-received events arrive, start the workers with -E$/u,
  },
  { event: evicted('workers'), level: 'warn', says: /^workers were evicted: 3; raise workers_max$/u },
  {
    event: evicted('reordering_window'),
    level: 'warn',
    says: /^events were applied before earlier .*: 3; raise reordering_events_max$/u,
  },
  {
    event: evicted('clock_skews'),
    level: 'warn',
    says: /^clock differences .*: 3; synchronize the clocks, or raise skew_pairs_max$/u,
  },
  {
    event: evicted('fixed_bounds'),
    level: 'warn',
    says: /^implausibly many .*: 3; find out what sends them$/u,
  },
  {
    event: { kind: 'clock-skewed', service: 'shop', senderHost: 'web1', workerHost: 'node7' },
    level: 'warn',
    says: /the clocks of "web1" \(sender\) and "node7" \(worker\) differ/u,
  },
  {
    event: { kind: 'loss-refuted', service: 'shop', task: 'shop.pay', worker: 'w1@node7' },
    level: 'warn',
    says: /^"shop\.pay" was counted as lost but ended after all: .* raise lost_timeout$/u,
  },
  {
    event: overflowed('celery.task.sent', true),
    level: 'warn',
    says: /^celery\.task\.sent of shop has reached its cardinality limit of 2000 points.*otel\.metric\.overflow.*cardinality_limits.*view/u,
  },
  {
    event: { ...EXPORTED, outcome: 'success', reason: '' },
    level: 'debug',
    says: /^exported 40 points in 12 ms$/u,
  },
  {
    event: { ...EXPORTED, outcome: 'partial', rejectedPoints: 3 },
    level: 'warn',
    says: /^the backend rejected 3 of 40 points permanently: "out of order"$/u,
  },
  {
    event: { ...EXPORTED, outcome: 'partial', rejectedPoints: 3, reason: '' },
    level: 'warn',
    says: /^the backend rejected 3 of 40 points permanently: no reason given$/u,
  },
  {
    event: { ...EXPORTED, outcome: 'partial' },
    level: 'warn',
    says: /^the backend accepted all 40 points with a warning: "out of order"$/u,
  },
  {
    event: { ...EXPORTED, outcome: 'failure', points: 0, reason: 'UNAVAILABLE' },
    level: 'warn',
    says: /^export to http:\/\/collector:4317 \(grpc\) failed, no data is lost: UNAVAILABLE$/u,
  },
  {
    event: { ...EXPORTED, outcome: 'failure', rejectedPoints: 3, reason: 'UNAVAILABLE' },
    level: 'warn',
    says: /^export to http:\/\/collector:4317 \(grpc\) failed, and 3 points were rejected permanently: UNAVAILABLE$/u,
  },
  { event: { ...BATCH, outcome: 'success' }, level: 'debug', says: /^exported 512 spans in 12 ms$/u },
  {
    event: { ...BATCH, signal: 'logs', outcome: 'partial', rejectedItems: 2 },
    level: 'warn',
    says: /^the backend rejected 2 of 512 log records permanently: "too old"$/u,
  },
  {
    event: { ...BATCH, outcome: 'partial', reason: '' },
    level: 'warn',
    says: /^the backend accepted all 512 spans with a warning: no reason given$/u,
  },
  {
    event: { ...BATCH, outcome: 'failure', items: 0 },
    level: 'warn',
    says: /^export of spans to http:\/\/collector:4317 \(grpc\) failed: too old$/u,
  },
  {
    event: { ...DROPPED_SPANS, reason: 'queue_full' },
    level: 'warn',
    says: /^3 spans of shop dropped: the queue is full: the backend is unavailable or too slow; raise max_queue_size/u,
  },
  {
    event: { ...DROPPED_SPANS, signal: 'logs', reason: 'repeated' },
    level: 'debug',
    says: /^3 log records of shop dropped: too many records of the same problem$/u,
  },
  {
    event: recovered(12),
    level: 'info',
    says: /^exports of shop to http:\/\/collector:4317 \(grpc\) are succeeding again after 12 failures in 63 s$/u,
  },
  { event: recovered(1), level: 'info', says: /after 1 failure in 63 s$/u },
  {
    event: late(300),
    level: 'warn',
    says: /^an export of shop took 4\.2 s, longer than the interval of 1 s; no data is lost, but this process is overloaded: raise metric_export_interval, or have fewer series or services$/u,
  },
  {
    event: late(4000),
    level: 'warn',
    says: /no data is lost, but the backend is slow: speed it up, or raise metric_export_interval$/u,
  },
  {
    event: { kind: 'status-served', service: 'celery-otel', url: 'http://127.0.0.1:9909', isOpen: false },
    level: 'info',
    says: /^status at http:\/\/127\.0\.0\.1:9909\/status\.json, probes at \/livez and \/readyz$/u,
  },
  {
    event: { kind: 'starter-gone', service: 'celery-otel' },
    level: 'warn',
    says: /^stopping: the npm script that started this process has ended$/u,
  },
  {
    event: { kind: 'defect', service: 'shop', where: 'export', reason: 'TypeError: x' },
    level: 'error',
    says: /^internal error in an export, which will be retried: TypeError: x$/u,
  },
  {
    event: { kind: 'defect', service: 'shop', where: 'attached_provider', reason: 'no' },
    level: 'error',
    says: /^an attached provider or processor failed; .*: no$/u,
  },
];

function recovered(failures: number): SelfEvent {
  const backend = 'http://collector:4317 (grpc)';
  return { kind: 'exports-recovered', service: 'shop', backend, failures, afterMs: 63_400 };
}

function late(waitedMs: number): SelfEvent {
  return { kind: 'export-late', service: 'shop', durationMs: 4200, waitedMs, intervalMs: 1000 };
}

function overflowed(metric: string, isFirst: boolean): SelfEvent {
  return { kind: 'series-overflowed', service: 'shop', metric, limit: 2000, isFirst };
}

function ended(
  end: SelfEvent<'broker-session-ended'>['end'],
  retryInMs: number | undefined,
): SelfEvent<'broker-session-ended'> {
  return {
    kind: 'broker-session-ended',
    service: 'shop',
    broker: 'amqp://h',
    end,
    reason: 'it broke',
    retryInMs,
  };
}

type Table = SelfEvent<'table-evicted'>['table'];

function evicted(table: Table): SelfEvent {
  return { kind: 'table-evicted', service: 'shop', table, count: 3 };
}

for (const { event, level, says } of EVENTS) {
  const how = 'end' in event ? event.end : 'outcome' in event ? event.outcome : '';
  test(`${event.kind} ${how} is logged as ${level}: ${says.source}`, () => {
    const line = logLine(event);
    assert.equal(line.level, level);
    assert.match(line.text, says);
  });
}

function log(
  level: LogLevel,
  pretty = false,
): { report: (event: SelfEvent) => void; lines: () => string[]; clock: { ms: number } } {
  const destination = new PassThrough();
  const clock = { ms: 0 };
  const report = createSelfLog({ level, pretty, destination }, () => clock.ms);
  return {
    report,
    lines: () =>
      String(destination.read() ?? '')
        .split('\n')
        .filter(Boolean),
    clock,
  };
}

test('a line is one JSON object with level, time, kind, service and text', () => {
  const { report, lines } = log('info');
  report(DROPPED);
  const [line = ''] = lines();
  const { time, ...rest } = JSON.parse(line);
  assert.match(time, /^\d{4}-\d\d-\d\dT/u);
  assert.deepEqual(rest, {
    level: 'warn',
    kind: 'input-dropped',
    service: 'shop',
    msg: 'not counted: invalid-json (12 characters)',
  });
});

/** One event of each kind with untrusted text. */
const FORGED: readonly SelfEvent[] = [
  { kind: 'clock-skewed', service: 'shop', senderHost: HOSTILE, workerHost: HOSTILE },
  { kind: 'loss-refuted', service: 'shop', task: HOSTILE, worker: HOSTILE },
  { kind: 'series-overflowed', service: 'shop', metric: HOSTILE, limit: 9, isFirst: true },
  { kind: 'task-events-missing', service: 'shop', workers: [HOSTILE], more: 0 },
  { kind: 'events-missing', service: 'shop', exchange: HOSTILE, forMs: 60_000, unread: 0 },
  { kind: 'exchange-made', service: 'shop', broker: HOSTILE, exchange: HOSTILE },
  { kind: 'publish-blocked', service: 'shop', broker: HOSTILE, reason: HOSTILE },
  { kind: 'publish-refused', service: 'shop', broker: HOSTILE, reason: HOSTILE },
  { kind: 'publish-unblocked', service: 'shop', broker: HOSTILE, reason: HOSTILE },
  { kind: 'broker-polled', service: 'shop', outcome: 'failure', reason: HOSTILE },
  { ...ASKED, outcome: 'failure', reason: HOSTILE },
  { kind: 'workers-endangered', service: HOSTILE, commands: [HOSTILE] },
  { ...BATCH, outcome: 'failure', backend: HOSTILE, reason: HOSTILE },
  { ...DROPPED_SPANS, service: HOSTILE, reason: 'refused' },
  { kind: 'service-started', service: HOSTILE, brokers: [HOSTILE] },
  { ...DROPPED, detail: HOSTILE },
  { ...EXPORTED, outcome: 'failure', backend: HOSTILE, reason: HOSTILE },
  { ...ended('lost', 0), reason: HOSTILE, broker: HOSTILE },
  { kind: 'defect', service: 'shop', where: 'deliver', reason: HOSTILE },
];

test('untrusted text stays on its line and cannot control a terminal', async () => {
  for (const event of FORGED) {
    const forMachines = log('info');
    forMachines.report(event);
    const [line = '', ...others] = forMachines.lines();
    assert.deepEqual(others, []);
    assert.doesNotMatch(line, UNPRINTABLE);
    const { msg, service } = JSON.parse(line);
    assert.doesNotMatch(`${msg}${service}`, UNPRINTABLE);
    assert.match(msg, /\\u202egnp/u);
    const forPeople = log('info', true);
    forPeople.report(event);
    await new Promise((resolve) => setImmediate(resolve));
    const lines = stripVTControlCharacters(forPeople.lines().join('\n')).split('\n');
    assert.match(lines[0] ?? '', /\\u202egnp/u);
    // The rest are the fields, one per line.
    for (const shown of lines.slice(1)) assert.match(shown, /^ {4}service: /u);
    for (const shown of lines) assert.doesNotMatch(shown, UNPRINTABLE);
  }
});

/** A name that closes the quotation and continues like a log line. */
const IMITATING = 'node7" (worker) differ: the password of shop has expired; "';

test('log-like text in a name is quoted', () => {
  const named: readonly SelfEvent[] = [
    { kind: 'clock-skewed', service: 'shop', senderHost: IMITATING, workerHost: IMITATING },
    { kind: 'loss-refuted', service: 'shop', task: IMITATING, worker: IMITATING },
    { kind: 'task-events-missing', service: 'shop', workers: [IMITATING, IMITATING], more: 1 },
    { ...EXPORTED, outcome: 'partial', rejectedPoints: 0, reason: IMITATING },
    { ...EXPORTED, outcome: 'partial', rejectedPoints: 3, reason: IMITATING },
  ];
  for (const event of named) {
    const { report, lines } = log('info');
    report(event);
    const { msg } = JSON.parse(lines()[0] ?? '');
    const ours = msg.replaceAll(/"(?:[^"\\]|\\.)*"/gu, '');
    assert.ok(msg.includes(JSON.stringify(IMITATING)), msg);
    assert.doesNotMatch(ours, /password|"/u);
  }
});

test('a flood of one kind and reason is one line a minute, and the next one has the number of those suppressed', () => {
  const { report, lines, clock } = log('info');
  for (let index = 0; index < 100_000; index += 1) report(DROPPED);
  assert.equal(lines().length, 1);
  report({ ...DROPPED, reason: 'missing-uuid' });
  assert.equal(lines().length, 1, 'another reason has a line of its own');
  clock.ms = 60_000;
  report(DROPPED);
  assert.equal(JSON.parse(lines()[0] ?? '').held_back, 99_999);
});

test('a flapping connection is ten lines a minute, and the last one says how long it lasts', () => {
  const { report, lines, clock } = log('info');
  const connected = { kind: 'broker-connected', service: 'shop', broker: 'amqp://h', attempts: 1 } as const;
  report(connected);
  for (let index = 0; index < 1000; index += 1) {
    report(ended('lost', 0));
    report(connected);
  }
  const first = lines();
  assert.equal(first.length, 11);
  assert.match(first.at(-1) ?? '', /connected to/u);
  clock.ms = 60_000;
  report(ended('lost', 0));
  report(connected);
  const [loss = '', again = ''] = lines();
  assert.equal(JSON.parse(loss).held_back, 995);
  assert.match(again, /connected to/u);
});

test('each reconnect after a failure is logged, with its broker', () => {
  const { report, lines } = log('info');
  const at = (broker: string) =>
    ({ kind: 'broker-connected', service: 'shop', broker, attempts: 1 }) as const;
  for (let index = 0; index < 6; index += 1) report(ended('lost', 0));
  report(at('amqp://h'));
  report(ended('lost', 0));
  report(ended('unreachable', 0));
  report(at('amqp://h'));
  report(ended('lost', 0));
  report(at('amqp://i'));
  report({ ...at('amqp://i'), service: 'bank' });
  const texts = lines().map((each) => JSON.parse(each).msg);
  assert.equal(texts.length, 5 + 5);
  assert.match(texts.at(-5), /^connected to amqp:\/\/h/u);
  assert.match(texts.at(-4), /it broke/u);
  assert.match(texts.at(-3), /^connected to amqp:\/\/h/u);
  assert.match(texts.at(-2), /^connected to amqp:\/\/i/u);
  assert.match(texts.at(-1), /for bank$/u);
});

test('a clock set back suppresses no line', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_790_000_000_000 });
  let monotonicMs = 0;
  t.mock.method(performance, 'now', () => monotonicMs);
  const destination = new PassThrough();
  const report = createSelfLog({ level: 'info', pretty: false, destination });
  report(DROPPED);
  t.mock.timers.setTime(1_780_000_000_000);
  monotonicMs = 60_000;
  report(DROPPED);
  assert.equal(String(destination.read()).trimEnd().split('\n').length, 2);
});

test('a clock that is set and reset is two lines, and one that jumps often is no flood', () => {
  const { report, lines } = log('info');
  for (let index = 0; index < 1000; index += 1) {
    report({ kind: 'clock-stepped', service: 'celery-otel', byMs: index % 2 === 0 ? 5000 : -5000 });
  }
  assert.equal(lines().length, 2);
});

test('a flood of implausible fields is one line a minute for each field', () => {
  const { report, lines } = log('info');
  for (let index = 0; index < 1000; index += 1) {
    for (const field of ['pid', 'runtime'])
      report({ kind: 'field-implausible', service: 'shop', field, detail: `a text, ${index}` });
  }
  assert.equal(lines().length, 2);
});

test('each full metric is logged once, then at most one for each service a minute', () => {
  const { report, lines, clock } = log('info');
  const metrics = Array.from({ length: 20 }, (_, index) => `m${index}`);
  for (const metric of metrics) report(overflowed(metric, true));
  assert.equal(lines().length, 20);
  for (let minute = 0; minute < 3; minute += 1) {
    for (const metric of metrics) report(overflowed(metric, false));
    for (const metric of metrics) report({ ...overflowed(metric, false), service: 'billing' });
    clock.ms += 60_000;
  }
  assert.equal(lines().length, 6);
});

test('failed and partly rejected exports are limited separately, and by service', () => {
  const { report, lines } = log('info');
  for (const service of ['shop', 'billing']) {
    for (const outcome of ['failure', 'partial', 'failure', 'partial'] as const)
      report({ ...EXPORTED, service, outcome });
  }
  assert.equal(lines().length, 4);
});

test('late exports are one line a minute for each service', () => {
  const { report, lines } = log('info');
  for (const service of ['shop', 'billing', 'shop']) report({ ...late(0), service });
  assert.equal(lines().length, 2);
});

test('lines below the level are neither written nor counted as suppressed', () => {
  const { report, lines } = log('error');
  report(DROPPED);
  assert.deepEqual(lines(), []);
});

test('pretty output is one readable line', async () => {
  const { report, lines } = log('info', true);
  report({ kind: 'broker-connected', service: 'shop', broker: 'amqp://h', attempts: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  const written = lines();
  assert.match(written[0] ?? '', /connected to amqp:\/\/h/u);
  assert.doesNotMatch(written[0] ?? '', /^\{/u);
});

test('the state of the rate limits is bounded', () => {
  const lineOf = boundedLines(() => true);
  const isLogged = (index: number) => lineOf({ ...DROPPED, service: `shop ${index}` }, 0) !== undefined;
  for (let index = 0; index < 10_000; index += 1) assert.ok(isLogged(index));
  assert.ok(!isLogged(9999), 'the newest is held back');
  assert.ok(isLogged(0), 'the oldest was let go');
});
