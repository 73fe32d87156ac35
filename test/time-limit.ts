/**
 * Loaded into each process of `npm test`: no test may take longer than two minutes there, so that one that waits for ever ends its
 * process, and its name is printed. Node’s own time-outs have to be written at each test.
 */
import { afterEach, beforeEach } from 'node:test';
import { TEST_LIMIT_MS } from './deadline.ts';

/** Real time, also in tests that mock timers. */
const { setTimeout, clearTimeout } = globalThis;
const running = new Map<string, NodeJS.Timeout>();

beforeEach((t) => {
  if (!('fullName' in t)) return;
  clearTimeout(running.get(t.fullName));
  const end = () => {
    process.stderr.write(`${t.fullName}: it has not ended within ${TEST_LIMIT_MS} ms\n`);
    process.exit(1);
  };
  running.set(t.fullName, setTimeout(end, TEST_LIMIT_MS).unref());
});

afterEach((t) => {
  if (!('fullName' in t)) return;
  clearTimeout(running.get(t.fullName));
  running.delete(t.fullName);
});
