/** Floods: how many records of a problem and in all are made, and that each one that is not is counted, exactly once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FloodGuard } from '../../src/logger/flood-guard.ts';
import type { LogRecord } from '../../src/logger/log-record.ts';
import { createLogger, type Logger } from '../../src/logger/logger.ts';
import { fc } from '../seed.ts';
import { CONTEXT, finished, NOW, SETTINGS } from './runs.ts';

const MINUTE = 60_000;
const failed = (logger: Logger, atMs: number, task = 'shop.pay') =>
  logger.ofRun(finished({ run: { task, queue: 'q', worker: 'w@h' }, reportedMs: atMs }), CONTEXT, true);
const revoked = (logger: Logger, atMs: number) =>
  logger.ofRun(finished({ outcome: 'revoked', errorType: '', reportedMs: atMs }), CONTEXT, true);
const suppressedOf = (record: LogRecord | undefined): number =>
  Number(record?.attributes['celery.suppressed'] ?? 0);

test('Of one problem ten records are made at once, then one a minute, which says how many were left out', () => {
  const logger = createLogger(SETTINGS);
  const made: [second: number, suppressed: number][] = [];
  for (let second = 0; second < 600; second += 1) {
    const record = failed(logger, NOW + second * 1000);
    if (record !== undefined) made.push([second, suppressedOf(record)]);
  }
  const first = Array.from({ length: 10 }, (_, second) => [second, 0]);
  const later = Array.from({ length: 9 }, (_, n) => [60 + n * 60, n === 0 ? 50 : 59]);
  assert.deepEqual(made, [...first, ...later]);
  assert.deepEqual(logger.leftOut(), { repeated: 600 - 19, rate_limited: 0 });
  assert.deepEqual(logger.leftOut(), { repeated: 0, rate_limited: 0 });
});

test('Retries of a task do not hide its failure', () => {
  const logger = createLogger(SETTINGS);
  for (let n = 0; n < 20; n += 1) logger.ofRun(finished({ outcome: 'retried' }), CONTEXT, true);
  assert.equal(suppressedOf(logger.ofRun(finished(), CONTEXT, true)), 0);
  assert.equal(logger.leftOut().repeated, 10);
});

test('In all, a hundred records a second are made', () => {
  const logger = createLogger(SETTINGS);
  const count = (atMs: number, times: number) =>
    Array.from({ length: times }, () => revoked(logger, atMs)).filter((record) => record !== undefined)
      .length;
  assert.equal(count(NOW, 250), 100);
  assert.equal(count(NOW + 500, 250), 50);
  assert.equal(count(NOW + 10_000, 250), 100);
  assert.deepEqual(logger.leftOut(), { repeated: 0, rate_limited: 500 });
  // Workers count as well.
  assert.equal(logger.ofWorker({ kind: 'worker-appeared', worker: 'w@h' }, NOW + 10_000), undefined);
  assert.deepEqual(logger.leftOut(), { repeated: 0, rate_limited: 1 });
});

test('A clock that is set back stops nothing', () => {
  const logger = createLogger(SETTINGS);
  for (let n = 0; n < 20; n += 1) failed(logger, NOW);
  assert.equal(failed(logger, NOW - 3_600_000), undefined);
  assert.equal(suppressedOf(failed(logger, NOW - 3_600_000 + MINUTE)), 11);
  assert.equal(failed(logger, NOW - 3_600_000 + MINUTE), undefined);
  assert.equal(logger.ofLeftOut(NOW - 7_200_000).length, 1);
});

test('What is left of a flood is told when it is quiet for a minute, once', () => {
  const logger = createLogger(SETTINGS);
  for (let n = 0; n < 47; n += 1) failed(logger, NOW);
  assert.deepEqual(logger.ofLeftOut(NOW + MINUTE - 1), []);
  const reported = logger.ofLeftOut(NOW + MINUTE);
  const [first] = reported;
  assert.equal(reported.length, 1);
  const { attributes, ...rest } = first ?? assert.fail();
  assert.deepEqual(rest, {
    eventName: 'celery.log.suppressed',
    severityNumber: 17,
    severityText: 'ERROR',
    body: 'shop.pay: ValueError: 37 were left out',
    timeMs: undefined,
    observedMs: NOW + MINUTE,
    traceId: '',
    spanId: '',
    flags: 0,
  });
  assert.match(String(attributes['celery.exception.fingerprint']), /^[0-9a-f]{16}$/);
  assert.deepEqual(
    [attributes['celery.suppressed'], attributes['celery.task.name'], attributes['error.type']],
    [37, 'shop.pay', 'ValueError'],
  );
  assert.deepEqual(logger.ofLeftOut(NOW + 2 * MINUTE), []);
  assert.equal(suppressedOf(failed(logger, NOW + 2 * MINUTE)), 0);
});

test('At the stop everything is told', () => {
  const logger = createLogger(SETTINGS);
  for (let n = 0; n < 500; n += 1) for (const task of ['a', 'b', 'c']) failed(logger, NOW, task);
  for (let n = 0; n < 500; n += 1) revoked(logger, NOW);
  const reported = logger.ofLeftOut(NOW, true);
  assert.deepEqual(
    reported.map((record) => [
      record.attributes['celery.task.name'],
      suppressedOf(record),
      record.severityText,
    ]),
    [
      [undefined, 430, 'INFO'],
      ['a', 490, 'ERROR'],
      ['b', 490, 'ERROR'],
      ['c', 490, 'ERROR'],
    ],
  );
});

test('A thousand problems are known; what was left out of those that are forgotten is told together', () => {
  const guard = new FloodGuard();
  const admit = (name: string, atMs: number) =>
    guard.admit({ eventName: 'e', fingerprint: name, task: name, errorType: '' }, 17, atMs);
  for (let n = 0; n < 15; n += 1) admit('first', NOW);
  for (let n = 0; n < 15; n += 1) admit('kept', NOW);
  for (let n = 0; n < 5000; n += 1) {
    admit(`problem ${n}`, NOW + n * 10);
    admit('kept', NOW + n * 10);
    assert.ok(guard.size <= 1000);
  }
  const { repeated } = guard.takeLeftOut();
  const reported = guard.takeQuiet(NOW + 50_000 + MINUTE, false);
  assert.deepEqual(
    reported.map(({ problem, count }) => [problem?.task, count]),
    [
      [undefined, 5],
      ['kept', repeated - 5],
    ],
  );
  // It is a new problem again.
  assert.equal(admit('first', NOW + 60_000), 0);
});

test('What is made is what is recorded and what was left out, and records tell of all that were', () => {
  const step = fc.record({
    passedMs: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 90_000 }), fc.integer({ min: -90_000, max: 0 })),
    times: fc.nat({ max: 150 }),
    task: fc.constantFrom('a', 'b', 'c', ''),
    looks: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const logger = createLogger(SETTINGS);
      let [nowMs, made, recorded, reported, leftOut] = [NOW, 0, 0, 0, 0];
      const look = (isLast: boolean): void => {
        for (const record of logger.ofLeftOut(nowMs, isLast)) reported += suppressedOf(record);
        const { repeated, rate_limited } = logger.leftOut();
        leftOut += repeated + rate_limited;
      };
      for (const { passedMs, times, task, looks } of steps) {
        nowMs += passedMs;
        for (let n = 0; n < times; n += 1) {
          made += 1;
          const record = task === '' ? revoked(logger, nowMs) : failed(logger, nowMs, task);
          if (record !== undefined) recorded += 1;
          reported += suppressedOf(record);
        }
        if (looks) look(false);
      }
      look(true);
      assert.equal(recorded + leftOut, made);
      assert.equal(reported, leftOut);
    }),
    { numRuns: 300 },
  );
});
