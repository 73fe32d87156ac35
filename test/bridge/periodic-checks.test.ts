/** How often services are looked after, and that steps of the wall clock are reported. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import {
  clockStepDetector,
  type PeriodicallyChecked,
  startPeriodicChecks,
} from '../../src/bridge/periodic-checks.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { DEADLINE_MS } from '../deadline.ts';

const EPOCH_MS = 1_790_000_000_000;

/** A lookout in mocked time, in which the wall clock can be set. */
function lookout(t: TestContext, services: readonly PeriodicallyChecked[]) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: EPOCH_MS });
  let monotonicMs = 5000;
  let setByMs = 0;
  t.mock.method(performance, 'now', () => monotonicMs);
  t.mock.method(Date, 'now', () => EPOCH_MS + monotonicMs + setByMs);
  const reported: SelfEvent[] = [];
  const end = startPeriodicChecks({ services, self: 'celery-otel', report: (event) => reported.push(event) });
  t.after(end);
  return {
    reported,
    end,
    setClock: (byMs: number) => {
      setByMs += byMs;
    },
    pass: (ms: number) => {
      monotonicMs += ms;
      t.mock.timers.tick(ms);
    },
  };
}

test('each change of the wall clock is reported once, and a steady clock never', (t) => {
  const { reported, setClock, pass } = lookout(t, []);
  for (let looks = 0; looks < 100; looks += 1) pass(5000);
  assert.deepEqual(reported, []);
  setClock(-3_600_000);
  for (let looks = 0; looks < 100; looks += 1) pass(5000);
  setClock(7000);
  for (let looks = 0; looks < 100; looks += 1) pass(5000);
  assert.deepEqual(reported, [
    { kind: 'clock-stepped', service: 'celery-otel', byMs: -3_600_000 },
    { kind: 'clock-stepped', service: 'celery-otel', byMs: 7000 },
  ]);
});

test('each service is checked every five seconds of monotonic time until the end', (t) => {
  const looks: number[] = [];
  const { setClock, pass, end } = lookout(t, [{ look: () => void looks.push(performance.now()) }]);
  pass(5000);
  setClock(-3_600_000);
  pass(5000);
  end();
  pass(60_000);
  assert.deepEqual(looks, [10_000, 15_000]);
});

test('a failing check is an internal error and does not affect the others', (t) => {
  let looks = 0;
  const failing = {
    look() {
      throw new TypeError('of ours');
    },
  };
  const counting = {
    look() {
      looks += 1;
    },
  };
  const { reported, pass } = lookout(t, [failing, counting]);
  pass(5000);
  assert.deepEqual(reported, [{ kind: 'defect', service: 'celery-otel', where: 'look', reason: 'of ours' }]);
  assert.equal(looks, 1);
});

test('a lookout keeps no process alive', async () => {
  const { href } = new URL('../../src/bridge/periodic-checks.ts', import.meta.url);
  const script = `import { startPeriodicChecks } from ${JSON.stringify(href)};
    startPeriodicChecks({ services: [], self: 'celery-otel', report() {} }); console.log('looks out');`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', script],
    { timeout: DEADLINE_MS },
  );
  assert.equal(stdout, 'looks out\n');
});

/** The differences between the wall clock and the monotonic clock at each check, ms, and the findings. */
const CASES: readonly (readonly [what: string, offBy: readonly number[], found: readonly number[]])[] = [
  ['is steady', [0, 0, 0], [0, 0, 0]],
  ['is set back by an hour', [0, -3_600_000, 0, 0], [0, -3_600_000, 0, 0]],
  ['is set forward, or the machine was suspended', [0, 90_000, 0], [0, 90_000, 0]],
  ['is set and reset', [3000, 0, -3000, 0], [3000, 0, -3000, 0]],
  ['is slewed for hours', Array.from({ length: 5000 }, () => 2.5), Array.from({ length: 5000 }, () => 0)],
  ['is corrected by less than two seconds', [1900, -1900], [0, 0]],
];

for (const [what, offBy, found] of CASES) {
  test(`a clock that ${what}`, () => {
    const step = clockStepDetector();
    let [wallMs, monotonicMs] = [EPOCH_MS, 5000];
    assert.equal(step(wallMs, monotonicMs), 0);
    const steps = offBy.map((byMs) => {
      wallMs += 5000 + byMs;
      monotonicMs += 5000;
      return step(wallMs, monotonicMs);
    });
    assert.deepEqual(steps, found);
  });
}

test('a stalled process sees both clocks advance', () => {
  const step = clockStepDetector();
  step(EPOCH_MS, 0);
  assert.equal(step(EPOCH_MS + 3_600_000, 3_600_000), 0);
});
