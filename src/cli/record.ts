/**
 * `celery-otel record`: writes messages to a file exactly as delivered, until a signal or the end of the messages. It
 * decodes nothing and exports nothing.
 */
import { openRecorder } from '../broker/recording/recorder.ts';
import type { Listener } from '../broker/session/session-loop.ts';
import type { RecordConfig } from '../config/config.ts';
import { loadRecordConfig } from '../config/load-config.ts';
import type { EventSink } from '../self/self-event.ts';
import { openListener } from '../service/open-listener.ts';
import type { CeleryOtelError } from '../text/errors.ts';
import { printable } from '../text/printable.ts';
import type { CommandIo } from './command-io.ts';
import { openLog } from './command-log.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print, reportMistakes } from './print.ts';
import { untilStopped } from './until-stopped.ts';

/** The service name in log lines: a recording belongs to a broker, not to a service. */
const SERVICE = 'recording';

/**
 * @param open opens the file; replaced in tests
 * @throws CeleryOtelError RECORDING_EXISTS; RECORDING_UNWRITABLE, also while recording
 */
export async function record(argv: readonly string[], io: CommandIo, open = openRecorder): Promise<number> {
  const loaded = loadRecordConfig({ argv, env: io.env, refuseUnknown: true });
  if (!loaded.ok) return reportMistakes('record', loaded.mistakes, io);
  const report = openLog(loaded.config.logLevel, io);
  for (const reason of loaded.warnings) report({ kind: 'setting-unused', service: SERVICE, reason });
  const recording = prepareRecording(loaded.config, report, open);
  const why = await untilStopped(recording, io, () => report({ kind: 'starter-gone', service: SERVICE }));
  const failure = recording.failure();
  if (failure !== undefined) throw failure;
  const omitted = recording.omitted();
  const missing = omitted === 0 ? '' : `, ${omitted} could not be recorded`;
  print(io.stdout, `${recording.count()} messages are in ${printable(loaded.config.file)}${missing}\n`);
  return why === 'unusable' ? EXIT_CODE.failed : EXIT_CODE.ok;
}

/** The recording, as a job of `untilStopped`. */
function prepareRecording(config: RecordConfig, report: EventSink, open: typeof openRecorder) {
  const { broker, file, replace } = config;
  let failure: CeleryOtelError | undefined;
  const ended = Promise.withResolvers<'stopped' | 'finished' | 'unusable' | 'unwritable'>();
  const recorder = open({
    file,
    replace,
    nowMs: Date.now(),
    onFailure(error) {
      failure ??= error;
      ended.resolve('unwritable');
    },
  });
  const stopping = new AbortController();
  let listener: Listener | undefined;
  let omitted = 0;
  const start = (): void => {
    listener = openListener({
      name: SERVICE,
      broker,
      deliver(message) {
        const outcome = recorder.write(message);
        // After writing has failed, report only that failure, not every further message.
        if (outcome.ok || failure !== undefined) return;
        const { reason: detail } = outcome;
        omitted += 1;
        report({
          kind: 'input-dropped',
          service: SERVICE,
          reason: 'unrecordable',
          intentional: false,
          detail,
        });
      },
      report,
      random: Math.random,
      signal: stopping.signal,
    });
    listener.done.then(ended.resolve, ended.reject);
  };
  return {
    start,
    finished: ended.promise,
    async stop() {
      stopping.abort();
      await listener?.done;
      recorder.close();
    },
    count: () => recorder.count(),
    /** How many messages could not be recorded. */
    omitted: () => omitted,
    /** Why the file is incomplete; undefined if it is complete. */
    failure: () => failure,
  };
}
