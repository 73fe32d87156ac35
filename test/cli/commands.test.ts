import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { flagOf, optionRows } from '../../src/config/options.ts';
import { runInProcess as celeryOtel } from './process-io.ts';

test('--help, -h and help print every command on one screen', async () => {
  const [first, ...others] = await Promise.all(
    [['--help'], ['-h'], ['help']].map((argv) => celeryOtel(argv)),
  );
  assert.equal(first?.code, 0);
  assert.equal(first?.stderr, '');
  for (const other of others) assert.deepEqual(other, first);
  for (const name of ['run', 'config', 'trace', 'top', 'record', 'metrics', 'help', 'version'])
    assert.match(first?.stdout ?? '', new RegExp(`^  ${name} `, 'm'));
  const lines = (first?.stdout ?? '').split('\n');
  assert.ok(lines.length <= 40, `${lines.length} lines`);
  assert.deepEqual(
    lines.filter((line) => line.length > 130),
    [],
  );
});

test('the examples of the help are valid', async () => {
  const { stdout } = await celeryOtel(['--help']);
  const examples = /Examples:\n(.*?)\n\n/su.exec(stdout)?.[1]?.split('\n') ?? [];
  assert.equal(examples.length, 3);
  for (const example of examples.filter((line) => !line.includes('--config'))) {
    const words = example.trim().split(' ');
    const at = words.indexOf('celery-otel');
    const env = Object.fromEntries(
      words.slice(0, at).map((word) => [word.split('=', 1)[0], word.replace(/^[^=]*=/u, '')]),
    );
    const result = await celeryOtel(['config', ...words.slice(at + 2)], env);
    assert.deepEqual([result.code, result.stderr], [0, ''], example);
  }
});

test('both forms print the same help of a command, even with mistakes in options', async () => {
  const [first, ...others] = await Promise.all(
    [
      ['run', '--help'],
      ['help', 'run'],
      ['run', '--nonsense', '-h'],
    ].map((argv) => celeryOtel(argv)),
  );
  assert.equal(first?.code, 0);
  assert.match(first?.stdout ?? '', /^celery-otel run \[options\]\n/);
  for (const other of others) assert.deepEqual(other, first);
  for (const [key, row] of optionRows()) {
    const shown = new RegExp(`^  ${flagOf(key)}( |$)`, 'm').test(first?.stdout ?? '');
    assert.equal(shown, row.commands.includes('run'), key);
  }
});

test('the help of commands that take a file describes configuration files', async () => {
  for (const argv of [
    ['run', '--help'],
    ['config', '--help'],
  ]) {
    const { stdout } = await celeryOtel(argv);
    for (const command of ['config --example', 'config --config FILE', 'config --schema'])
      assert.match(stdout, new RegExp(`^ {2}celery-otel ${command} `, 'm'), argv.join(' '));
  }
  assert.doesNotMatch((await celeryOtel(['record', '--help'])).stdout, /--config/);
});

test('--version, -v and version print the version of the package', async () => {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  for (const result of await Promise.all(
    [['--version'], ['-v'], ['version']].map((argv) => celeryOtel(argv)),
  )) {
    assert.deepEqual(result, { code: 0, stdout: `${manifest.version}\n`, stderr: '' });
  }
});

test('an unknown or missing command exits with 78 and lists the commands', async () => {
  const cases: [argv: string[], complaint: string][] = [
    [[], 'expected a command: run, config, check, trace, top, record, metrics, help, version'],
    [['rnu'], 'unknown command "rnu": did you mean run?'],
    [
      ['frobnicate'],
      'unknown command "frobnicate": expected one of run, config, check, trace, top, record, metrics, help, version',
    ],
    [['help', 'rnu'], 'unknown command "rnu": did you mean run?'],
    [
      ['amqp://me:hunter2@rabbit'],
      'unknown command: expected one of run, config, check, trace, top, record, metrics, help, version',
    ],
    [['version', 'x'], 'version takes no arguments'],
    [['help', 'run', 'x'], 'help takes the name of one command'],
    [
      ['--log-level', 'run'],
      'unknown command "--log-level": expected one of run, config, check, trace, top, record, metrics, help, version',
    ],
  ];
  const results = await Promise.all(cases.map(([argv]) => celeryOtel(argv)));
  for (const [index, [argv, complaint]] of cases.entries()) {
    const stderr = `celery-otel: ${complaint}\nTry: celery-otel --help\n`;
    assert.deepEqual(results[index], { code: 78, stdout: '', stderr }, argv.join(' '));
  }
});

test('a command whose options have a mistake exits with 78, and does nothing', async () => {
  for (const [name, ...argv] of [
    ['run', '--tasks-max=0'],
    ['check', '--seconds=0'],
    ['trace', '90817c7f', '--nonsense'],
    ['top', '--nonsense'],
    ['record', '--out', '/nowhere/x', '--nonsense'],
    ['metrics', '--format=yaml'],
  ] as const) {
    const { code, stdout, stderr } = await celeryOtel([name, ...argv]);
    assert.deepEqual([code, stdout], [78, ''], name);
    assert.match(
      stderr,
      new RegExp(`^celery-otel ${name} did not start, (?:one mistake|\\d+ mistakes) in its options:\\n`, 'u'),
    );
  }
});
