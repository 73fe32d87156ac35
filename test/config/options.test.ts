import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mistake } from '../../src/config/mistake.ts';
import {
  envOf,
  flagOf,
  isOptionKey,
  OPTIONS,
  type OptionCommand,
  type OptionKey,
  optionRows,
} from '../../src/config/options.ts';
import { type OptionSources, readOptions } from '../../src/config/read-options.ts';
import { addressFor, needsMaster } from './option-brokers.ts';
import { OPTION_CASES } from './option-cases.ts';
import { sources } from './sources.ts';

/** What an option requires to be valid alone. */
const COMPANIONS: Partial<Record<OptionKey, Record<string, string>>> = {
  otlp_client_certificate: { OTEL_EXPORTER_OTLP_CLIENT_KEY: OPTION_CASES.otlp_client_key.good[0]?.[0] ?? '' },
  otlp_client_key: {
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: OPTION_CASES.otlp_certificate.good[0]?.[0] ?? '',
  },
  traces_sampler_arg: { OTEL_TRACES_SAMPLER: 'traceidratio' },
  worker_timeout: { CELERY_OTEL_SERIES_RETENTION: '86400' },
};

/** Every way to give an option a text. */
function waysToGive(
  key: OptionKey,
  text: string,
): { command: OptionCommand; source: string; given: OptionSources }[] {
  const row = OPTIONS[key];
  const flag = flagOf(key);
  const beside = {
    ...(key === 'broker_url' ? {} : { CELERY_BROKER_URL: addressFor(key) }),
    ...(needsMaster(key) ? { CELERY_MASTER_NAME: 'main' } : {}),
    ...COMPANIONS[key],
  };
  return row.commands.flatMap((command) => [
    { command, source: flag, given: sources(command, { argv: [`${flag}=${text}`], env: beside }) },
    ...envOf(key).map((name) => ({
      command,
      source: name,
      given: sources(command, { env: { ...beside, [name]: ` ${text}\n` } }),
    })),
  ]);
}

const CASES = Object.keys(OPTION_CASES)
  .filter(isOptionKey)
  .flatMap((key) => (key === 'config' ? [] : [key]));

for (const key of CASES) {
  test(`${key} is read from its flag and from each of its variables`, () => {
    for (const [text, value] of OPTION_CASES[key].good) {
      for (const { command, source, given } of waysToGive(key, text)) {
        const result = readOptions(command, given);
        assert.ok(result.ok, `${source}=${text}: ${JSON.stringify(result)}`);
        assert.deepEqual(result.options.value(key), value, `${source}=${text}`);
        assert.equal(result.options.isGiven(key), true);
      }
    }
  });

  test(`${key} refuses malformed values and reports their source`, () => {
    for (const text of OPTION_CASES[key].bad) {
      for (const { command, source, given } of waysToGive(key, text)) {
        const result = readOptions(command, given);
        assert.ok(!result.ok, `${source}=${JSON.stringify(text)} was accepted`);
        // One variable is read for two signals.
        const readers = optionRows(command).filter(
          ([other, row]) => other === key || row.env.includes(source),
        );
        const said = `${source}=${text}: ${JSON.stringify(result.mistakes)}`;
        assert.equal(result.mistakes.length, readers.length, said);
        const mistake = result.mistakes.find(({ path }) => path === key);
        assert.equal(mistake?.path, key);
        assert.equal(mistake?.source, source);
        assert.ok((mistake?.expected ?? '').length > 0);
        assert.ok((mistake?.value ?? '').length > 0);
      }
    }
  });
}

test('an empty variable is like an unset one', () => {
  for (const command of ['run', 'config', 'record', 'metrics'] as const) {
    const blank = Object.fromEntries(optionRows().flatMap(([, row]) => row.env.map((name) => [name, ' \n'])));
    const plain = readOptions(command, sources(command, {}));
    const result = readOptions(command, {
      argv: sources(command, {}).argv,
      env: { ...blank, ...sources(command, {}).env },
    });
    assert.ok(plain.ok && result.ok);
    for (const [key] of optionRows(command)) {
      assert.deepEqual(result.options.value(key), plain.options.value(key), key);
    }
  }
});

test('no two options share a flag or a variable', () => {
  const names = optionRows().flatMap(([key, row]) => [flagOf(key), ...row.env]);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  assert.deepEqual(twice, ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'], 'of spans and of log records');
});

test('the description of every option is one sentence', () => {
  for (const [key, row] of optionRows()) assert.match(row.doc, /^[A-Z`][^\n]*\.$/, key);
});

test('the expected format of a number names its unit', () => {
  const units = optionRows().flatMap(([key, { doc, format }]) => {
    const unit = /^(Seconds|Milliseconds) /u.exec(doc)?.[1]?.toLowerCase();
    return unit === undefined ? [] : [[key, unit, format.expects] as const];
  });
  assert.ok(units.length >= 8);
  for (const [key, unit, expects] of units) assert.ok(expects.startsWith(`${unit}, `), `${key}: ${expects}`);
});

test('an option of another command is neither read nor checked', () => {
  const env = { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_SERVICE_NAME: '' };
  const result = readOptions('record', sources('record', { env }));
  assert.ok(result.ok);
  assert.equal(result.options.value('otlp_timeout'), undefined);
  assert.throws(() => result.options.need('otlp_timeout'), /otlp_timeout/);
});

test('a missing required option is reported by its path', () => {
  const missing = (command: OptionCommand): readonly Mistake[] => {
    const result = readOptions(command, { argv: [], env: {} });
    return result.ok ? [] : result.mistakes;
  };
  assert.deepEqual(
    missing('run').map(({ path, source, value }) => ({ path, source, value })),
    ['broker_url', 'service_name'].map((path) => ({ path, source: undefined, value: undefined })),
  );
  assert.deepEqual(
    missing('record').map(({ path }) => path),
    ['broker_url', 'out'],
  );
});
