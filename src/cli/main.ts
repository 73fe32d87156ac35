#!/usr/bin/env node
/**
 * The entry of the command `celery-otel`: rejects an old Node, then runs the command. Only this file exits the process.
 * Its static imports must run on old versions of Node; everything else is loaded with `import()`.
 */
import { isRecentEnough, NODE_MIN } from './node-version.ts';

/** Read first, because the parent may end before the commands are loaded. */
const starterId = process.ppid;

/** Ends the process as the signal would have, until the command listens for signals itself. */
const endAtOnce = (_signal: string, number: number): void => process.exit(128 + number);
// The kernel sends the first process of a container no signal that it does not listen for.
if (process.pid === 1) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, endAtOnce);

if (isRecentEnough(process.versions.node)) {
  void start();
} else {
  process.stderr.write(
    `celery-otel needs Node ${NODE_MIN} or newer; this is Node ${process.versions.node}. To get one: nvm install 22, npm install -g node@22, or the image.\n`,
  );
  process.exitCode = 1;
}

/** Not at the top level, because the single executable is built from a script, not from a module. */
async function start(): Promise<void> {
  // Without `-ioredis`, ioredis would print each command, with passwords. It reads the variable when it is loaded.
  const { DEBUG } = process.env;
  if (DEBUG !== undefined) process.env['DEBUG'] = `${DEBUG},-ioredis:*`;
  const { boundHeapGrowth } = await import('./heap-growth.ts');
  boundHeapGrowth();
  const { runCommandLine } = await import('./commands.ts');
  const { isSetApart, npmOf } = await import('./starter.ts');
  const { openTerminal } = await import('./terminal.ts');
  // If a pipe is closed, continue: nobody is left to read a message about it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  runCommandLine(process.argv.slice(2), {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    signals: {
      on: (signal, listener) => process.off(signal, endAtOnce).on(signal, listener),
      off: (signal, listener) => process.off(signal, listener),
    },
    crashes: process,
    warnings: process,
    terminal: () => openTerminal(process.stdin, process.stdout, process.env),
    origin: {
      starterId,
      parentId: () => process.ppid,
      npmId: () => npmOf(starterId, process.env['npm_lifecycle_script']),
      isSetApart,
    },
    exitNow: (exitCode) => process.exit(exitCode),
  }).then((exitCode) => {
    // The callback of an empty write runs after everything before it was written or has failed.
    process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
  });
}
