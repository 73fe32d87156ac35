/**
 * The table of commands, and the choice among them. A command's code is loaded when it is called, so that help needs no
 * SDK and no broker client.
 */
import { nearest } from '../config/format/near-miss.ts';
import { type OptionCommand, optionRows } from '../config/options.ts';
import { optionsHelp } from '../config/show/option-docs.ts';
import { CeleryOtelError } from '../errors.ts';
import { printable } from '../printable.ts';
import { VERSION } from '../version.ts';
import type { CommandIo, RunCommand } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print } from './print.ts';

interface CommandRow {
  readonly summary: string;
  /** Whose options it takes; undefined where it takes none. */
  readonly options: OptionCommand | undefined;
  readonly load: () => Promise<RunCommand>;
}

const COMMANDS: ReadonlyMap<string, CommandRow> = new Map<string, CommandRow>([
  [
    'run',
    {
      summary: 'Listen to Celery clusters and export their metrics over OTLP, until a signal.',
      options: 'run',
      load: async () => (await import('./run.ts')).run,
    },
  ],
  [
    'config',
    {
      summary: 'Print the effective configuration of run, each value with its origin, or what is wrong.',
      options: 'config',
      load: async () => (await import('./config.ts')).config,
    },
  ],
  [
    'record',
    {
      summary: 'Record the messages of a Celery cluster to a file, which recording:FILE replays.',
      options: 'record',
      load: async () => (await import('./record.ts')).record,
    },
  ],
  [
    'metrics',
    {
      summary: 'Print all metrics, with their units and attributes.',
      options: 'metrics',
      load: async () => (await import('./metrics.ts')).metrics,
    },
  ],
  ['help', { summary: 'Print this text, or that of a command.', options: undefined, load: async () => help }],
  ['version', { summary: 'Print the version.', options: undefined, load: async () => version }],
]);

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-v', 'version'],
]);

/** What a flag cannot say of a file in its one sentence. */
const FILES = `
Configuration files (--config FILE):
  One file for everything: several Celery services, each with its broker, which metrics are exported, and how.
  celery-otel config --example         prints a complete file with comments
  celery-otel config --config FILE     prints the effective configuration of a file, or everything that is wrong
  celery-otel config --schema          prints a JSON schema of the section celery, for editors
  docs/configuration.md has more under "One configuration file".
`;

/**
 * Runs what the arguments say and resolves with the exit code; never rejects.
 * @param argv what follows the name of the program
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
  const options = of === undefined ? '' : `\nOptions:\n${optionsHelp(of)}\n${files}`;
  print(io.stdout, `celery-otel ${name}${options && ' [options]'}\n\n${command.summary}\n${options}`);
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

Celery events in, OpenTelemetry metrics out.

Commands:
${commands}

A flag wins over environment variables, of which the first that is set wins, and variables win over the file of --config.
The file alone configures the export, and the services if it names any. config takes the options of run.
Exit codes: ${EXIT_CODE.ok} done or stopped, ${EXIT_CODE.misconfigured} wrong options, ${EXIT_CODE.failed} anything else.

Options:
${optionsHelp()}
${FILES}`;
}

function unknownCommand(name: string | undefined, io: CommandIo): number {
  const names = [...COMMANDS.keys()];
  if (name === undefined) return refuse(`expected a command: ${names.join(', ')}`, io);
  // Anything but a plain word may be a secret that strayed to the front.
  const shown = /^[a-z-]{1,20}$/i.test(name) ? ` "${name}"` : '';
  const near = nearest(name, names);
  const hint = near === undefined ? `expected one of ${names.join(', ')}` : `did you mean ${near}?`;
  return refuse(`unknown command${shown}: ${hint}`, io);
}

function refuse(complaint: string, io: CommandIo): number {
  print(io.stderr, `celery-otel: ${complaint}\nTry: celery-otel --help\n`);
  return EXIT_CODE.misconfigured;
}

/** What a caller can act on in a sentence; of anything else the stack, for a report. */
function describeError(error: unknown): string {
  if (error instanceof CeleryOtelError) return `${error.message}\n${error.hint}`;
  if (!(error instanceof Error)) return `unexpected error: ${printable(String(error))}`;
  const { message, stack = message } = error;
  // Of its lines only those behind the message are sure to be no text of somebody else.
  const behind = stack.indexOf(message) + message.length;
  return `unexpected error: ${printable(stack.slice(0, behind))}${stack.slice(behind)}`;
}
