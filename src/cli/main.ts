#!/usr/bin/env node
/**
 * The entry of the command `celery-otel`: refuses a Node that is too old, then hands the process to the commands. Only
 * here is the process ended, and V8 told how far the heap may grow. What it imports statically must run on old Nodes, so
 * all else comes by `import()`.
 */
import { isRecentEnough, NODE_MIN } from './node-version.ts';

/** At once: it may be gone before the commands are loaded. */
const starterId = process.ppid;

if (isRecentEnough(process.versions.node)) {
  const { setFlagsFromString } = await import('node:v8');
  // The heap may grow by half before it is collected. V8 would let it grow to four times what is in use: 700 MiB for 150.
  setFlagsFromString('--heap-growing-percent=50');
  const { runCommandLine } = await import('./commands.ts');
  const { isSetApart, npmOf } = await import('./starter.ts');
  // A pipe whose reader is gone is no reason to stop, and there is nobody left to tell.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  runCommandLine(process.argv.slice(2), {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    signals: process,
    origin: {
      starterId,
      parentId: () => process.ppid,
      npmId: () => npmOf(starterId, process.env['npm_lifecycle_script']),
      isSetApart,
    },
    exitNow: (exitCode) => process.exit(exitCode),
  }).then((exitCode) => {
    // Writing nothing calls back once everything before it is written, or failed.
    process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
  });
} else {
  process.stderr.write(
    `celery-otel needs Node ${NODE_MIN} or newer; this is Node ${process.versions.node}.\n`,
  );
  process.exitCode = 1;
}
