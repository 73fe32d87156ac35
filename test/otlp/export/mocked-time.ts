/** Mocked time for timers, the date and `performance.now()`. */
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface MockedTime {
  nowMs(): number;
  /** Advances the time by single milliseconds and runs whatever is due. */
  pass(ms: number): Promise<void>;
  /** Advances the time until it happens. @throws after this many milliseconds */
  passUntil(happened: () => boolean, ms: number): Promise<void>;
}

/** @param behindMs how far `performance.now()` is behind the timers, which know whole milliseconds only */
export function mockTime(t: TestContext, behindMs: (nowMs: number) => number = () => 0): MockedTime {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
  t.mock.method(performance, 'now', () => Date.now() - behindMs(Date.now()));
  // Nobody does anything in that time.
  const utilization = () => ({ idle: Date.now(), active: 0, utilization: 0 });
  t.mock.method(performance, 'eventLoopUtilization', utilization);
  // What was imported by name is not the mock otherwise.
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.reset();
    syncBuiltinESMExports();
  });
  async function tick(): Promise<void> {
    t.mock.timers.tick(1);
    await nextTurn();
  }
  return {
    nowMs: () => Date.now(),
    async pass(ms) {
      await nextTurn();
      for (let passed = 0; passed < ms; passed += 1) await tick();
    },
    async passUntil(happened, ms) {
      await nextTurn();
      for (let passed = 0; !happened(); passed += 1) {
        if (passed >= ms) throw new Error(`it did not happen within ${ms} ms`);
        await tick();
      }
    },
  };
}
