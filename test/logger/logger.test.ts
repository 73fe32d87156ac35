/** Which records are made of which ends of runs and of workers, and what they say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogRecord } from '../../src/logger/log-record.ts';
import { createLogger } from '../../src/logger/logger.ts';
import type { FinishedOutcome, FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { HOSTILE, UNPRINTABLE } from '../hostile-text.ts';
import { fc } from '../seed.ts';
import { CONTEXT, finished, NOW, SETTINGS } from './runs.ts';
import { CORE, planted } from './secrets.ts';

const recordOf = (changes: Partial<FinishedRun>, settings = SETTINGS, isKept = true) =>
  createLogger(settings).ofRun(finished(changes), CONTEXT, isKept);

const ERROR = { path: 'shop.BadAddress', message: 'no address', stacktrace: 'shop.BadAddress: no address' };
const ON_WORKER = {
  'celery.task.name': 'app.invoice',
  'celery.queue.name': 'work',
  'celery.worker.name': 'w1@shop',
  'messaging.message.id': '792678ed-6840-42b7-b65a-a08cfc471cf0',
};

/** [outcome, error type, texts] → [event name, severity, body, attributes], besides the fingerprint */
const ROWS: readonly (readonly [
  Partial<FinishedRun>,
  readonly [string, number, string, string, Readonly<Record<string, string | number>>] | undefined,
])[] = [
  [
    { outcome: 'failed', error: ERROR },
    [
      'messaging.process.exception',
      17,
      'ERROR',
      'app.invoice failed: ValueError',
      {
        'error.type': 'ValueError',
        'exception.type': 'shop.BadAddress',
        'exception.message': 'no address',
        'exception.stacktrace': 'shop.BadAddress: no address',
      },
    ],
  ],
  [
    { outcome: 'failed', error: undefined },
    [
      'messaging.process.exception',
      17,
      'ERROR',
      'app.invoice failed: ValueError',
      { 'error.type': 'ValueError', 'exception.type': 'ValueError' },
    ],
  ],
  [
    { outcome: 'rejected', errorType: '' },
    [
      'messaging.process.exception',
      17,
      'ERROR',
      'app.invoice was rejected',
      { 'error.type': 'Reject', 'exception.type': 'Reject' },
    ],
  ],
  [
    { outcome: 'retried', retries: 2, error: { ...ERROR, stacktrace: '' } },
    [
      'celery.task.retried',
      13,
      'WARN',
      'app.invoice will be retried: ValueError',
      {
        'celery.task.retries': 2,
        'error.type': 'ValueError',
        'exception.type': 'shop.BadAddress',
        'exception.message': 'no address',
      },
    ],
  ],
  [
    { outcome: 'terminated', errorType: '' },
    ['celery.task.terminated', 13, 'WARN', 'app.invoice was terminated', { 'error.type': 'terminated' }],
  ],
  [
    { outcome: 'terminated', errorType: '', error: { path: '', message: '', stacktrace: '' } },
    ['celery.task.terminated', 13, 'WARN', 'app.invoice was terminated', { 'error.type': 'terminated' }],
  ],
  [
    { outcome: 'terminated', errorType: '', error: { ...ERROR, stacktrace: '' } },
    [
      'messaging.process.exception',
      17,
      'ERROR',
      'app.invoice was terminated',
      { 'error.type': 'terminated', 'exception.type': 'shop.BadAddress', 'exception.message': 'no address' },
    ],
  ],
  [
    { outcome: 'lost', errorType: '' },
    ['celery.task.lost', 17, 'ERROR', 'app.invoice was lost with its worker', { 'error.type': 'lost' }],
  ],
  [{ outcome: 'expired', errorType: '' }, ['celery.task.expired', 13, 'WARN', 'app.invoice expired', {}]],
  [{ outcome: 'revoked', errorType: '' }, ['celery.task.revoked', 9, 'INFO', 'app.invoice was revoked', {}]],
  ...(['succeeded', 'requeued', 'cancelled', 'replaced', 'unknown'] as const).map(
    (outcome) => [{ outcome, errorType: '' }, undefined] as const,
  ),
];

for (const [changes, expected] of ROWS) {
  const what = `${changes.outcome}${changes.error === undefined ? '' : ', with texts'}`;
  test(`A run that ended as ${what} makes ${expected?.[0] ?? 'no record'}`, () => {
    const record = recordOf(changes);
    if (expected === undefined) return assert.equal(record, undefined);
    assert.ok(record !== undefined);
    const { attributes, ...rest } = record;
    const [eventName, severityNumber, severityText, body, own] = expected;
    const times = { timeMs: NOW, observedMs: NOW + 5 };
    assert.deepEqual(rest, { eventName, severityNumber, severityText, body, ...times, ...CONTEXT });
    const { 'celery.exception.fingerprint': fingerprint = '', ...others } = attributes;
    assert.deepEqual(others, { ...ON_WORKER, ...own });
    assert.match(String(fingerprint), 'exception.type' in own ? /^[0-9a-f]{16}$/ : /^$/);
  });
}

test('A record of a run without a time has that of its telling only', () => {
  const record = recordOf({ endedMs: undefined });
  assert.deepEqual([record?.timeMs, record?.observedMs], [undefined, NOW + 5]);
});

test('Only as severe ones as wanted are made', () => {
  const made = (minimumSeverity: number) =>
    (['failed', 'retried', 'revoked'] as const satisfies readonly FinishedOutcome[]).filter(
      (outcome) => recordOf({ outcome }, { ...SETTINGS, minimumSeverity }) !== undefined,
    );
  assert.deepEqual(made(9), ['failed', 'retried', 'revoked']);
  assert.deepEqual(made(10), ['failed', 'retried']);
  assert.deepEqual(made(17), ['failed']);
  assert.deepEqual(made(18), []);
});

test('Where records follow traces, those of runs whose spans are dropped are not made', () => {
  const traceBased = { ...SETTINGS, traceBased: true };
  assert.equal(recordOf({}, traceBased, false), undefined);
  assert.ok(recordOf({}, traceBased, true) !== undefined);
  const noTrace = { traceId: '', spanId: '', flags: 0 };
  assert.ok(createLogger(traceBased).ofRun(finished(), noTrace, false) !== undefined);
  // Otherwise they keep the ids.
  assert.equal(recordOf({}, SETTINGS, false)?.traceId, CONTEXT.traceId);
  // A worker has no span.
  assert.ok(
    createLogger(traceBased).ofWorker({ kind: 'worker-appeared', worker: 'w1@shop' }, NOW) !== undefined,
  );
});

for (const [reason, eventName, severityText, body] of [
  ['appeared', 'celery.worker.online', 'INFO', 'w1@shop is online'],
  ['returned', 'celery.worker.online', 'INFO', 'w1@shop is online'],
  ['goodbye', 'celery.worker.offline', 'INFO', 'w1@shop went offline'],
  ['silence', 'celery.worker.lost', 'ERROR', 'w1@shop is lost: it sends no events any more'],
  ['replaced', 'celery.worker.lost', 'ERROR', 'w1@shop is lost: another process has taken its place'],
  ['restarted', 'celery.worker.lost', 'ERROR', 'w1@shop is lost: it was restarted'],
] as const) {
  test(`A worker of which is told: ${reason}, makes ${eventName}`, () => {
    const isThere = reason === 'appeared' || reason === 'returned';
    const of = (settings = SETTINGS) => {
      const worker = 'w1@shop';
      const logger = createLogger(settings);
      return isThere
        ? logger.ofWorker({ kind: `worker-${reason}`, worker }, NOW)
        : logger.ofWorker({ kind: 'worker-exited', worker, reason }, NOW);
    };
    assert.deepEqual(of(), {
      eventName,
      severityNumber: severityText === 'INFO' ? 9 : 17,
      severityText,
      body,
      timeMs: undefined,
      observedMs: NOW,
      traceId: '',
      spanId: '',
      flags: 0,
      attributes: {
        'celery.worker.name': 'w1@shop',
        ...(isThere ? {} : { 'celery.worker.exit.reason': reason }),
      },
    });
    assert.equal(of({ ...SETTINGS, workers: false }), undefined);
    assert.equal(of({ ...SETTINGS, minimumSeverity: 18 }), undefined);
  });
}

/** Every text of the record. */
function textsOf({
  eventName,
  body,
  severityText,
  traceId,
  spanId,
  attributes,
}: LogRecord): readonly string[] {
  return [eventName, body, severityText, traceId, spanId, ...Object.values(attributes).map(String)];
}

test('No record shows a secret of an exception, or of arguments and results', () => {
  fc.assert(
    fc.property(planted, fc.boolean(), fc.boolean(), (secret, exceptionMessage, isLong) => {
      const logger = createLogger({ ...SETTINGS, exceptionMessage });
      const frames = `Traceback (most recent call last):\n  File "a.py", line 1, in f\n    ${secret.split('\n', 1)[0]} \n`;
      const message = `${isLong ? 'many words '.repeat(80) : ''}${secret}`;
      const stacktrace = `${frames.repeat(isLong ? 200 : 1)}shop.Declined: ${message}`;
      const error = { path: 'shop.Declined', message: message.slice(0, 1024), stacktrace };
      for (const outcome of [
        'failed',
        'retried',
        'rejected',
        'terminated',
        'lost',
        'expired',
        'revoked',
      ] as const) {
        const run = finished({ outcome, error, args: secret, kwargs: secret, result: secret });
        const record = logger.ofRun(run, CONTEXT, true);
        assert.ok(record !== undefined);
        for (const text of textsOf(record)) assert.doesNotMatch(text, CORE);
      }
    }),
    { numRuns: 1000 },
  );
});

test('Whatever arrives, a record is bounded and printable', () => {
  const long = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constant(HOSTILE),
    fc.constant(`${HOSTILE}\n`.repeat(900)),
  );
  fc.assert(
    fc.property(long, long, long, (name, message, stacktrace) => {
      const run = { task: name, queue: name, worker: name };
      const error = { path: name, message, stacktrace };
      const record = recordOf({ run, uuid: name, errorType: name, error });
      const worker = createLogger(SETTINGS).ofWorker({ kind: 'worker-appeared', worker: name }, NOW);
      for (const { body, attributes } of [record, worker].filter((made) => made !== undefined)) {
        assert.ok(body.length < 600);
        assert.doesNotMatch(body, UNPRINTABLE);
        for (const [key, value] of Object.entries(attributes)) {
          const text = String(value);
          const max = key === 'exception.stacktrace' ? 16 * 1024 : key === 'exception.message' ? 1024 : 255;
          assert.ok(text.length <= max, key);
          assert.doesNotMatch(max === 255 ? text : text.replaceAll(/[\n\t]/g, ''), UNPRINTABLE);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('Names of prototypes are names like others', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const error = { path: name, message: name, stacktrace: name };
    const record = recordOf({ run: { task: name, queue: name, worker: name }, errorType: name, error });
    assert.equal(record?.attributes['celery.task.name'], name);
    assert.equal(record?.attributes['error.type'], name);
    assert.equal(Object.getPrototypeOf(record?.attributes), Object.prototype);
  }
});

test('the limit of attribute values holds for every text, whole characters only', () => {
  const settings = { ...SETTINGS, attributeValueLengthMax: 5 };
  const record = recordOf({ error: { ...ERROR, message: 'nine😀lives' } }, settings);
  for (const [key, value] of Object.entries(record?.attributes ?? {})) {
    assert.ok(typeof value !== 'string' || (value.length <= 5 && value.isWellFormed()), key);
  }
  assert.equal(record?.attributes['exception.message'], 'nine�');
  assert.ok((record?.body.length ?? 0) > 5, 'the body is none');
});
