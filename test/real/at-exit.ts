/**
 * Cleanup when the test process exits, for tests that did not clean up. One listener for all, so that many servers
 * raise no warning about listeners. It cannot help against SIGKILL (see `server-process.ts`).
 */
const acts = new Set<() => void>();

/** Runs the synchronous `act` when the process exits, unless the returned function was called before. */
export function atExit(act: () => void): () => void {
  if (acts.size === 0) process.on('exit', runAll);
  acts.add(act);
  return () => {
    acts.delete(act);
    if (acts.size === 0) process.removeListener('exit', runAll);
  };
}

function runAll(): void {
  for (const act of acts) act();
}
