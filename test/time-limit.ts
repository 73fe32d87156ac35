/**
 * Loaded into each process of `npm test`: only the process itself writes coverage, and no test may take longer than two minutes there, with all of its hooks, so that one that waits
 * for ever ends its process, and its name is printed. Between tests, hooks have longer. Node’s own time-outs have to be written at
 * each test.
 */
import { beforeEach } from 'node:test';
import { HOOK_LIMIT_MS, TEST_LIMIT_MS } from './deadline.ts';

// Programs that a test starts would write coverage too. Theirs is of the build, not of `src/`, and one that is killed leaves half a
// file, with which Node reports no coverage at all. For this process, Node has read the variable already.
delete process.env['NODE_V8_COVERAGE'];

/** Real time, also in tests that mock timers. */
const { setTimeout, clearTimeout } = globalThis;
let open = 0;

// A test that ends the process would hide all that come after it.
process.on('exit', () => {
  if (open > 0) process.exitCode = 1;
});

const end = (what: string, limitMs: number) => {
  process.stderr.write(`${what}: it has not ended within ${limitMs} ms\n`);
  process.exit(1);
};

/** Also after a test that an uncaught exception failed: its hooks come after its end. */
const between = setTimeout(() => {
  if (open === 0) end('a hook', HOOK_LIMIT_MS);
}, HOOK_LIMIT_MS).unref();

beforeEach((t) => {
  if (!('fullName' in t)) return;
  open += 1;
  const timer = setTimeout(end, TEST_LIMIT_MS, t.fullName, TEST_LIMIT_MS).unref();
  // After the last hook.
  t.signal.addEventListener('abort', () => {
    open -= 1;
    clearTimeout(timer);
    between.refresh();
  });
});
