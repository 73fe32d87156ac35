/** `celery-otel run`: creates a bridge from the options, and runs it until it finishes or a signal stops it. */
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { createBridge } from '../bridge/bridge.ts';
import { loadConfig } from '../config/load-config.ts';
import type { EventSink } from '../self/self-event.ts';
import type { CommandIo } from './command-io.ts';
import { openLog, SERVICE } from './command-log.ts';
import { EXIT_CODE } from './exit-code.ts';
import { reportMistakes } from './print.ts';
import { runStatus } from './run-status.ts';
import { catchUncaught } from './uncaught.ts';
import { untilStopped } from './until-stopped.ts';

/** @param create creates the bridge; replaced in tests */
export async function run(argv: readonly string[], io: CommandIo, create = createBridge): Promise<number> {
  const loaded = loadConfig({ argv, env: io.env, refuseUnknown: true });
  if (!loaded.ok) return reportMistakes('run', loaded.mistakes, io);
  const { logLevel, status, ...config } = loaded.config;
  const log = openLog(logLevel, io);
  const shown = status && runStatus(status, loaded.config);
  const report: EventSink = (event) => {
    log(event);
    shown?.note(event);
  };
  // grpc-js would log proxy failures to stderr, between our own lines, which already report them.
  setLogVerbosity(logVerbosity.NONE);
  for (const reason of loaded.warnings) report({ kind: 'setting-unused', service: SERVICE, reason });
  const remembered = status && { activity: true, rememberedRuns: status.runsMax };
  const bridge = create({ ...config, report, ...remembered });
  // The status is served before anything connects: a process that waits for its broker is live.
  const server = shown && (await shown.open(bridge));
  if (server !== undefined)
    report({ kind: 'status-served', service: SERVICE, url: server.url, isOpen: server.isOpen });
  const uncaught = catchUncaught(io, bridge);
  const job = {
    start: () => bridge.start(),
    finished: Promise.race([bridge.finished, uncaught.fatal]),
    stop: (deadlineMs: number) => bridge.stop(deadlineMs),
  };
  const starterGone = (): void => report({ kind: 'starter-gone', service: SERVICE });
  const why = await untilStopped(job, io, starterGone).finally(() => {
    uncaught.end();
    server?.close();
  });
  return why === 'unusable' || why === 'crashed' ? EXIT_CODE.failed : EXIT_CODE.ok;
}
