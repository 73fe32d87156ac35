/** Every end of a run: outcome, status, error type, times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedOutcome, FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { OUTCOMES } from '../../src/tracer/outcomes.ts';
import { attributesOf, onlySpan, run, T0_MS, tracer } from './finished-facts.ts';

const ERROR = { path: 'shop.Declined', message: 'no cover, hunter2', stacktrace: 'Traceback …' };
const NOT_STARTED = { startedMs: undefined };

interface Row {
  readonly outcome: FinishedOutcome;
  readonly given?: Partial<FinishedRun>;
  readonly isError?: boolean;
  readonly errorType?: string;
  readonly startMs?: number;
  readonly endMs?: number;
}

const ROWS: readonly Row[] = [
  { outcome: 'succeeded' },
  { outcome: 'failed', given: { errorType: 'Declined', error: ERROR }, isError: true, errorType: 'Declined' },
  { outcome: 'rejected', isError: true, errorType: 'Reject' },
  { outcome: 'requeued' },
  { outcome: 'retried', given: { errorType: 'Declined', error: ERROR }, errorType: 'Declined' },
  { outcome: 'revoked', given: NOT_STARTED, startMs: T0_MS + 10 },
  { outcome: 'expired', given: NOT_STARTED, startMs: T0_MS + 10 },
  { outcome: 'terminated', isError: true, errorType: 'terminated' },
  { outcome: 'cancelled' },
  { outcome: 'lost', isError: true, errorType: 'lost' },
  { outcome: 'redelivered' },
  { outcome: 'replaced' },
  { outcome: 'unknown' },
];

test('there is a row for each outcome', () => {
  assert.deepEqual(
    ROWS.map(({ outcome }) => outcome),
    Object.keys(OUTCOMES),
  );
});

for (const { outcome, ...expected } of ROWS) {
  test(outcome, () => {
    const span = onlySpan(tracer().trace(run({ outcome, ...expected.given })).spans);
    assert.equal(span.name, 'process shop.charge');
    assert.equal(attributesOf(span)['celery.task.outcome'], outcome);
    assert.equal(attributesOf(span)['error.type'], expected.errorType);
    assert.equal(span.error !== undefined, expected.isError ?? false);
    assert.deepEqual(
      [span.startMs, span.endMs],
      [expected.startMs ?? T0_MS + 20, expected.endMs ?? T0_MS + 120],
    );
  });
}

test('the description of an error is what the exception says, redacted', () => {
  const { trace } = { trace: (of: Partial<FinishedRun>) => onlySpan(tracer().trace(run(of)).spans).error };
  assert.equal(trace({ outcome: 'failed', error: ERROR })?.description, 'no cover, ***');
  assert.equal(trace({ outcome: 'failed' })?.description, '');
  assert.equal(trace({ outcome: 'terminated' })?.description, '');
  assert.equal(trace({ outcome: 'retried', error: ERROR }), undefined);
});

test('a failure without a class is `unknown`, as on the metrics', () => {
  const span = onlySpan(tracer().trace(run({ outcome: 'failed' })).spans);
  assert.equal(attributesOf(span)['error.type'], 'unknown');
});

test('a revocation before the receipt is a moment', () => {
  const of = { outcome: 'revoked', startedMs: undefined, receivedMs: undefined, sent: undefined } as const;
  const span = onlySpan(tracer().trace(run(of)).spans);
  assert.deepEqual([span.startMs, span.endMs], [T0_MS + 120, T0_MS + 120]);
});

test('an exception is a span event only where that is wanted, also of a run that is retried', () => {
  const made = tracer({ exceptionEvents: true });
  const ofRun = (of: Partial<FinishedRun>) => onlySpan(made.trace(run(of)).spans).events;
  assert.deepEqual(ofRun({ outcome: 'failed', errorType: 'Declined', error: ERROR }), [
    {
      name: 'exception',
      timeMs: T0_MS + 120,
      attributes: {
        'exception.type': 'shop.Declined',
        'exception.message': 'no cover, ***',
        'exception.stacktrace': 'Traceback …',
      },
    },
  ]);
  const bare = { path: '', message: '', stacktrace: '' };
  assert.deepEqual(ofRun({ outcome: 'failed', errorType: 'Declined', error: bare })[0]?.attributes, {
    'exception.type': 'Declined',
  });
  const [retried] = ofRun({ outcome: 'retried', errorType: 'Declined', error: ERROR });
  assert.equal(retried?.attributes['exception.message'], 'no cover, ***');
  assert.deepEqual(ofRun({ outcome: 'failed' }), []);
  const without = tracer().trace(run({ outcome: 'failed', error: ERROR }));
  assert.deepEqual(onlySpan(without.spans).events, []);
});

test('beyond instrumented workers: only ends that they cannot tell, and no sending', () => {
  const made = tracer({ spans: 'beyond_workers' });
  const kept = ROWS.filter(({ outcome }) => made.trace(run({ outcome })).isKept);
  const outcomes = kept.map(({ outcome }) => outcome).toSorted();
  assert.equal(outcomes.join(' '), 'expired lost redelivered rejected revoked terminated');
  const failures = ['WorkerLostError', 'TimeLimitExceeded', 'SoftTimeLimitExceeded', 'ValueError'];
  assert.deepEqual(
    failures.filter((errorType) => made.trace(run({ outcome: 'failed', errorType })).isKept),
    ['WorkerLostError', 'TimeLimitExceeded'],
  );
});
