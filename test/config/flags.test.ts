import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFlags } from '../../src/config/flags.ts';
import { describeMistake } from '../../src/config/mistake.ts';

function read(...argv: string[]) {
  const { given, mistakes } = readFlags(argv, 'run');
  return { given: Object.fromEntries(given), mistakes: mistakes.map(describeMistake) };
}

test('a value follows its flag or an equals sign', () => {
  assert.deepEqual(read('--log-level', 'debug', '--tasks-max=5'), {
    given: { log_level: 'debug', tasks_max: '5' },
    mistakes: [],
  });
});

test('a value may contain equals signs and begin with a dash', () => {
  assert.deepEqual(read('--otlp-headers=a=b=c', '--worker-timeout', '-5').given, {
    otlp_headers: 'a=b=c',
    worker_timeout: '-5',
  });
});

test('a boolean flag needs no value, or has one after an equals sign', () => {
  assert.deepEqual(read('--otlp-insecure').given, { otlp_insecure: 'true' });
  assert.deepEqual(read('--otlp-insecure=false').given, { otlp_insecure: 'false' });
  assert.deepEqual(read('--otlp-insecure', '--log-level', 'warn').given, {
    otlp_insecure: 'true',
    log_level: 'warn',
  });
});

test('a flag without its value does not consume the next flag', () => {
  assert.deepEqual(read('--tasks-max', '--log-level', 'debug'), {
    given: { log_level: 'debug' },
    mistakes: ['tasks_max (--tasks-max): expected a value: a whole number from 1 to 10000000'],
  });
});

test('an empty value is a mistake', () => {
  for (const argv of [
    ['--tasks-max='],
    ['--tasks-max', ''],
    ['--tasks-max', ' '],
    ['--otlp-insecure='],
    ['--tasks-max'],
  ]) {
    const { given, mistakes } = read(...argv);
    assert.deepEqual(given, {});
    assert.match(mistakes.join('\n'), /^\w+ \(--[a-z-]+\): expected a value: [^\n]+$/);
  }
});

test('a repeated flag is a mistake', () => {
  assert.deepEqual(read('--tasks-max', '1', '--tasks-max=2').mistakes, [
    'tasks_max (--tasks-max): expected this flag only once',
  ]);
});

test('an unknown flag with its value is one mistake, with a suggestion for a near miss', () => {
  const cases: [argv: string[], mistake: string][] = [
    [
      ['--log-levl', 'debug'],
      'command line (--log-levl): expected a flag of run (did you mean --log-level?)',
    ],
    [['--Log-Level=debug'], 'command line (--Log-Level): expected a flag of run (did you mean --log-level?)'],
    [
      ['-log-level', 'debug'],
      'command line (-log-level): expected a flag of run (did you mean --log-level?)',
    ],
    [['--frobnicate'], 'command line (--frobnicate): expected a flag of run'],
    [
      ['--no-otlp-insecure'],
      'command line (--no-otlp-insecure): expected a flag of run (did you mean --otlp-insecure?)',
    ],
    [['-x'], 'command line (-x): expected a flag of run'],
    [['--__proto__=1'], 'command line (a flag): expected a flag of run'],
    [['--out=x'], 'command line (--out): expected a flag of run; this one belongs to record'],
  ];
  for (const [argv, mistake] of cases) assert.deepEqual(read(...argv), { given: {}, mistakes: [mistake] });
});

test('a stray argument is a mistake, named by its position', () => {
  assert.deepEqual(read('--tasks-max', '1', 'stray', '--', 'another'), {
    given: { tasks_max: '1' },
    mistakes: [3, 4, 5].map(
      (place) =>
        `command line (argument ${place} after the command): expected only flags (quote values that contain spaces)`,
    ),
  });
});
