/**
 * The table of commands, and their dispatch. The code of a command is loaded when it is called, so that `help` loads
 * neither the SDK nor a broker client.
 */
import { type OptionCommand, optionRows } from '../config/options.ts';
import { optionsHelp } from '../config/show/option-docs.ts';
import { VERSION } from '../self/version.ts';
import { CeleryOtelError } from '../text/errors.ts';
import { printable } from '../text/printable.ts';
import { nearest } from '../text/suggestion.ts';
import type { CommandIo, RunCommand } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print } from './print.ts';

interface CommandRow {
  readonly summary: string;
  /** The command whose options it accepts; by default it accepts none. */
  readonly options?: OptionCommand;
  readonly load: () => Promise<RunCommand>;
  /** Help beyond the options. */
  readonly more?: () => Promise<string>;
}

const TABLE: Readonly<Record<string, CommandRow>> = {
  run: {
    summary:
      'Listen to Celery clusters and export their metrics, traces and logs over OTLP until stopped by a signal.',
    options: 'run',
    load: async () => (await import('./run.ts')).run,
  },
  config: {
    summary: 'Print the effective configuration of run, with the origin of each value, or all mistakes.',
    options: 'config',
    load: async () => (await import('./config.ts')).config,
  },
  check: {
    summary:
      'Look for a few seconds at brokers, workers and backend, and print what is wrong with them and what to do.',
    options: 'check',
    load: async () => (await import('./check.ts')).check,
  },
  trace: {
    summary:
      'Print the trace of one task as a tree: trace UUID, from a broker, a recording or a running instance.',
    options: 'trace',
    load: async () => (await import('./trace.ts')).trace,
  },
  top: {
    summary:
      'Show the status page in a terminal: top http://HOST:PORT of a running celery-otel, a recording, or live.',
    options: 'top',
    load: async () => (await import('./top.ts')).top,
    more: async () => (await import('../top/keys-help.ts')).keysHelp(),
  },
  record: {
    summary: 'Record the messages of a Celery cluster to a file that recording:FILE replays.',
    options: 'record',
    load: async () => (await import('./record.ts')).record,
  },
  metrics: {
    summary: 'Print all metrics, with their units and attributes.',
    options: 'metrics',
    load: async () => (await import('./metrics.ts')).metrics,
  },
  help: { summary: 'Print this help, or the help of a command.', load: async () => help },
  version: { summary: 'Print the version.', load: async () => version },
};

/** A Map, so that a command such as `constructor` is not found. */
const COMMANDS: ReadonlyMap<string, CommandRow> = new Map(Object.entries(TABLE));

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-v', 'version'],
]);

const FILES = `
Configuration files (--config FILE):
  One file for everything: Celery services and their brokers, the choice of metrics, and the export. With a file, the
  export comes from the file alone, and so do the services if it has any.
  celery-otel config --example         prints a complete file with comments, for several services
  celery-otel config --example redis   prints a short one; also: one, sentinel, tls
  celery-otel config --config FILE     prints the effective configuration, or all mistakes
  celery-otel config --schema          prints the JSON schema of the section celery, for editors
  More in docs/configuration.md, "One configuration file".
`;

/**
 * Runs a command and resolves with the exit code; never rejects.
 * @param argv the arguments after the name of the program
 */
export async function runCommandLine(argv: readonly string[], io: CommandIo): Promise<number> {
  const [word, ...rest] = argv;
  const name = ALIASES.get(word ?? '') ?? word;
  const command = name === undefined ? undefined : COMMANDS.get(name);
  if (name === undefined || command === undefined) return unknownCommand(name, io);
  try {
    if (command.options !== undefined && rest.some((argument) => ALIASES.get(argument) === 'help')) {
      return await help([name], io);
    }
    const run = await command.load();
    return await run(rest, io);
  } catch (error) {
    print(io.stderr, `celery-otel: ${describeError(error)}\n`);
    return EXIT_CODE.failed;
  }
}

async function help(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...more] = argv;
  if (name === undefined) {
    print(io.stdout, usage());
    return EXIT_CODE.ok;
  }
  const command = COMMANDS.get(name);
  if (command === undefined) return unknownCommand(name, io);
  if (more.length > 0) return refuse('help takes the name of one command', io);
  const { options: of } = command;
  const files = of !== undefined && optionRows(of).some(([key]) => key === 'config') ? FILES : '';
  const options = of === undefined ? '' : `\n${optionsHelp(of)}\n${files}`;
  const besides = (await command.more?.()) ?? '';
  print(
    io.stdout,
    `celery-otel ${name}${options && ' [options]'}\n\n${command.summary}\n${besides}${options}`,
  );
  return EXIT_CODE.ok;
}

async function version(argv: readonly string[], io: CommandIo): Promise<number> {
  if (argv.length > 0) return refuse('version takes no arguments', io);
  print(io.stdout, `${VERSION}\n`);
  return EXIT_CODE.ok;
}

function usage(): string {
  const width = Math.max(...[...COMMANDS.keys()].map((name) => name.length));
  const commands = [...COMMANDS]
    .map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
    .join('\n');
  return `celery-otel <command> [options]

Celery events in, OpenTelemetry metrics, traces and logs out.

Commands:
${commands}

Examples:
  celery-otel run --broker-url amqp://guest:guest@localhost// --service-name shop
  CELERY_BROKER_URL=redis://localhost/0 OTEL_SERVICE_NAME=shop celery-otel check
  celery-otel run --config celery-otel.yaml

The backend is http://localhost:4317 (OTLP over gRPC) unless --otlp-endpoint or OTEL_EXPORTER_OTLP_ENDPOINT names another.
Flags win over environment variables, and these over the file of --config.
Exit codes: ${EXIT_CODE.ok} done or stopped, ${EXIT_CODE.misconfigured} invalid options, ${EXIT_CODE.failed} any other failure.
Of check: ${EXIT_CODE.ok} fine, ${EXIT_CODE.degraded} degraded, ${EXIT_CODE.down} down.

  celery-otel help run          all options, the common ones first
  celery-otel config            what of them differs from the defaults, and where it is set
  celery-otel config --example  a commented configuration file; also --example one, redis, sentinel or tls
`;
}

function unknownCommand(name: string | undefined, io: CommandIo): number {
  const names = [...COMMANDS.keys()];
  if (name === undefined) return refuse(`expected a command: ${names.join(', ')}`, io);
  // Anything but a simple word may be a misplaced secret.
  const shown = /^[a-z-]{1,20}$/i.test(name) ? ` "${name}"` : '';
  const near = nearest(name, names);
  const hint = near === undefined ? `expected one of ${names.join(', ')}` : `did you mean ${near}?`;
  return refuse(`unknown command${shown}: ${hint}`, io);
}

function refuse(message: string, io: CommandIo): number {
  print(io.stderr, `celery-otel: ${message}\nTry: celery-otel --help\n`);
  return EXIT_CODE.misconfigured;
}

/** The message and the hint of an expected error; the stack of any other error, for a bug report. */
function describeError(error: unknown): string {
  if (error instanceof CeleryOtelError) return `${error.message}\n${error.hint}`;
  if (!(error instanceof Error)) return `unexpected error: ${printable(String(error))}`;
  const { message, stack = message } = error;
  // Only the lines after the message certainly contain no untrusted text.
  const messageEnd = stack.indexOf(message) + message.length;
  return `unexpected error: ${printable(stack.slice(0, messageEnd))}${stack.slice(messageEnd)}`;
}
