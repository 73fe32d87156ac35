/**
 * Every shell command in the documents is valid, as far as that shows without running it: npm scripts exist, and so do
 * the commands, flags and variables of celery-otel, with valid values. Other programs are listed with a reason.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { runCommandLine } from '../../src/cli/commands.ts';
import { processIo } from '../cli/process-io.ts';
import { setVariables } from '../config/configuration-files.ts';
import { type ShellCommand, shellCommands } from './shell-commands.ts';
import { ROOT } from './sources.ts';

/** Programs and npm commands that are not checked, and why. */
const UNCHECKED: Readonly<Record<string, string>> = {
  'npm install': 'fetches packages; test/contract/package.release.ts installs the tarball',
  'npm pack': 'builds; test/contract/package.release.ts packs a clone, and from git',
  'dist/celery-otel': 'is the single executable; test/deploy/binary.release.ts builds and runs one',
  cd: 'is the shell’s own',
  curl: 'asks a Collector that runs',
  docker: 'needs Docker, which tests do not have; test/deploy builds and runs the image with podman',
  helm: 'is Helm; test/deploy/helm.release.ts renders the chart',
  kubectl: 'needs a cluster; test/deploy/kubernetes.test.ts validates the objects',
  install: 'copies files',
  systemctl: 'needs a running systemd; test/deploy/systemd.test.ts verifies the unit',
  journalctl: 'needs a running systemd',
  grep: 'filters what another program prints',
  'otelcol-contrib': 'is a Collector; test/otel-config runs one with the files of the documents',
  python3: 'is Python; test/examples and test/e2e run the example with Celery',
  '.venv/bin/pip': 'is Python; test/real installs the same requirements',
  '.venv/bin/celery': 'is Celery; test/e2e runs workers like these',
  '.venv/bin/python': 'is Python; test/e2e runs the same program',
  'redis-cli': 'is Redis’s; test/broker/redis/transport.test.ts grants such permissions',
  rabbitmqctl: 'is RabbitMQ’s; test/broker/amqp.test.ts grants such permissions',
  'rabbitmq-plugins': 'is RabbitMQ’s; test/e2e/unnamed-queues.test.ts enables the same plugin',
};
/** Variables that look like ours or like those of OpenTelemetry. */
const VARIABLE = /^(?:CELERY|OTEL|LOG)_/u;
const UNCHECKED_VARIABLES = new Set(['CELERY_RESULT_BACKEND']);
/** A placeholder for the reader. */
const PLACEHOLDER = /\b(?:FILE|NAME|VALUE)\b|…/u;

interface Known {
  /** Name of a command of celery-otel → flag → whether a value follows. */
  readonly commands: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
  readonly variables: ReadonlySet<string>;
}

async function output(argv: readonly string[], env: Record<string, string> = {}): Promise<[number, string]> {
  const { io, stdout, stderr } = processIo(env);
  return [await runCommandLine(argv, io), stdout() + stderr()];
}

/** As the help says it. */
async function knownFromHelp(): Promise<Known> {
  const [, help] = await output(['help']);
  const [, list = ''] = /Commands:\n([\s\S]*?)\n\n/u.exec(help) ?? [];
  const names = [...list.matchAll(/^ {2}(\w+)/gmu)].map(([, name = '']) => name);
  const commands = new Map<string, ReadonlyMap<string, boolean>>();
  const variables = new Set<string>();
  for (const name of names) {
    const [, text] = await output(['help', name]);
    const flags = [...text.matchAll(/^ {2}(--[\w-]+)( VALUE)?$/gmu)];
    commands.set(name, new Map(flags.map(([, flag = '', value]) => [flag, value !== undefined])));
    for (const [, all = ''] of text.matchAll(/environment: ([\w, ]+)/gu))
      for (const variable of all.split(', ')) variables.add(variable);
  }
  return { commands, variables };
}

/** The place of a command. */
interface Place {
  readonly t: TestContext;
  /** Of the document. */
  readonly folder: string;
  readonly known: Known;
  /** Collects what was not checked. */
  readonly used: Set<string>;
}

/** What is wrong with a command, or undefined. */
async function wrongWith(command: ShellCommand, place: Place): Promise<string | undefined> {
  const { known, used } = place;
  for (const name of command.env.keys()) {
    if (VARIABLE.test(name) && !known.variables.has(name) && !UNCHECKED_VARIABLES.has(name)) {
      return `no option has the variable ${name}`;
    }
  }
  const [program, ...args] = command.words[0] === 'npx' ? command.words.slice(1) : command.words;
  switch (program) {
    case undefined:
      return undefined;
    case 'celery-otel':
      return wrongWithOurs(args, command, place);
    case 'node':
      return existsSync(path.join(ROOT, args[0] ?? '')) ? undefined : 'there is no such script';
    case 'npm':
      if (args[0] === 'test' || args[0] === 'run') {
        const script = args[0] === 'test' ? 'test' : args[1];
        return Object.keys(manifest.scripts).includes(script ?? '') ? undefined : `no npm script ${script}`;
      }
  }
  const key = program === 'npm' ? `npm ${args[0]}` : program;
  used.add(key);
  return key in UNCHECKED ? undefined : `neither checked nor listed as unchecked: ${key}`;
}

async function wrongWithOurs(
  [name = '', ...args]: readonly string[],
  { env, isMentioned }: ShellCommand,
  { t, folder, known: { commands } }: Place,
): Promise<string | undefined> {
  if (['--help', '--version'].includes(name)) return undefined;
  const flags = commands.get(name);
  if (flags === undefined) return `no command ${name}`;
  for (const arg of args) {
    if (arg.startsWith('-') && !flags.has(arg)) return `${name} has no flag ${arg}`;
  }
  if (isMentioned || (name !== 'run' && name !== 'config')) return undefined;
  if (PLACEHOLDER.test(args.join(' '))) return undefined;
  // `config` takes what `run` takes, and says what is wrong with it. Files are beside the document.
  const found = args.map((arg) => (existsSync(path.join(folder, arg)) ? path.join(folder, arg) : arg));
  const base = { CELERY_BROKER_URL: 'amqp://localhost', OTEL_SERVICE_NAME: 'shop' };
  // Files refer to the variables of the process.
  setVariables(t, Object.fromEntries(env));
  const [code, text] = await output(['config', ...found], { ...base, ...Object.fromEntries(env) });
  return code === 0 ? undefined : text;
}

test('every shell command in the documents is valid, or listed as unchecked', async (t) => {
  const known = await knownFromHelp();
  assert.ok(known.commands.get('run')?.get('--broker-url') === true);
  assert.ok(known.variables.has('CELERY_BROKER_URL'));
  const exclude = (name: string) => /^(?:node_modules|dist|\..+)$/u.test(path.basename(name));
  const used = new Set<string>();
  for (const document of globSync('**/*.md', { cwd: ROOT, exclude })) {
    const commands = shellCommands(readFileSync(path.join(ROOT, document), 'utf8'));
    await t.test(document, async (t) => {
      const folder = path.join(ROOT, path.dirname(document));
      for (const command of commands) {
        assert.equal(await wrongWith(command, { t, folder, known, used }), undefined, command.text);
      }
    });
  }
  assert.deepEqual([...used].sort(), Object.keys(UNCHECKED).sort(), 'what is listed as unchecked is in use');
});

test('invalid commands, flags, variables and values are found', async (t) => {
  const known = await knownFromHelp();
  const judge = (text: string) => {
    const [command = assert.fail(text)] = shellCommands(`\`\`\`sh\n${text}\n\`\`\`\n`).slice(-1);
    return wrongWith(command, { t, folder: ROOT, known, used: new Set() });
  };
  for (const right of [
    'npm run demo',
    'npm test -- test/celery',
    'celery-otel run --otlp-protocol grpc # a comment',
    'celery-otel run --config FILE',
    "CELERY_OTEL_METRICS_DISABLED='celery.*' \\\n  npx celery-otel run",
  ]) {
    assert.equal(await judge(right), undefined, right);
  }
  for (const [wrong, complaint] of [
    ['npm run demonstration', /no npm script demonstration/],
    ['celery-otel ran', /no command ran/],
    ['celery-otel record --config FILE', /record has no flag --config/],
    ['celery-otel run --otlp-protocol smtp', /otlp.protocol/],
    ['OTEL_EXPORTER_ENDPOINT=http://x celery-otel run', /no option has the variable OTEL_EXPORTER_ENDPOINT/],
    ['export CELERY_OTEL_WORKER_TIMEOUT=soon\ncelery-otel run', /WORKER_TIMEOUT/],
    ['node scripts/nowhere.ts', /no such script/],
    ['npm run demo && wget x', /neither checked nor listed as unchecked: wget/],
  ] as const) {
    assert.match((await judge(wrong)) ?? '', complaint, wrong);
  }
});

test('commands are found in blocks and inline, with their variables, without comments', () => {
  const found = shellCommands(
    [
      'Run `npm run demo` or `celery-otel config`, not `celery-otel.yaml`.',
      '   ```sh',
      '   export A=1 B="two words"   # c',
      "   C='#3' celery-otel run --x 'y z' | grep q; cd d",
      '   ```',
      '```python',
      'npm run nothing',
      '```',
    ].join('\n'),
  );
  assert.deepEqual(
    found.map(({ env, words }) => [[...env].flat().join(' '), ...words]),
    [
      ['A 1 B two words'],
      ['A 1 B two words C #3', 'celery-otel', 'run', '--x', 'y z'],
      ['A 1 B two words', 'grep', 'q'],
      ['A 1 B two words', 'cd', 'd'],
      ['', 'npm', 'run', 'demo'],
      ['', 'celery-otel', 'config'],
    ],
  );
});
