import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AMQP_TLS, REDIS_TLS, TLS_EFFECTS } from '../../../src/config/file/broker-tls.ts';
import {
  WITHOUT_EFFECT,
  WITHOUT_EFFECT_ON_AMQP,
  WITHOUT_EFFECT_ON_SENTINELS,
} from '../../../src/config/file/transport-options.ts';
import {
  envOf,
  fileOf,
  flagOf,
  OPTIONS,
  optionRows,
  servicePath,
  serviceRows,
} from '../../../src/config/options.ts';
import { COMMON_OPTIONS, optionsHelp, restriction } from '../../../src/config/show/option-docs.ts';
import { assertGenerated, markdownTable } from '../../contract/generated-block.ts';

const DOCUMENT = new URL('../../../docs/configuration.md', import.meta.url);
const README = new URL('../../../README.md', import.meta.url);

/** The options that most users set. */

const code = (text: string): string => `\`${text}\``;

function optionsTable(): string {
  const rows = optionRows().map(([key, row]) => {
    // Of the export there is more to say than where it is, and the document does.
    const file = row.scope === 'export' ? undefined : fileOf(key);
    const required = row.required === true ? '; required' : '';
    return [
      code(key),
      [...row.env, flagOf(key), ...(file === undefined ? [] : [file])].map(code).join('<br>'),
      row.default === undefined ? '' : code(row.default),
      `${row.doc} Takes ${row.format.expects}${required}${restriction(row)}.`,
      row.commands.map(code).join(', '),
    ];
  });
  return markdownTable(
    ['Option', 'Variables, flag, place in a file', 'Default', 'Meaning', 'Commands'],
    rows,
  );
}

test('docs/configuration.md has the table of options (UPDATE=1 rewrites it)', () => {
  assertGenerated(DOCUMENT, 'options', optionsTable());
});

test('the README has the most important options, each with its first sentence', () => {
  const rows = COMMON_OPTIONS.map((key) => {
    const { default: value, doc } = OPTIONS[key];
    const [variable = flagOf(key)] = envOf(key).toReversed();
    const [sentence = doc] = /^.*?[.;](?= |$)/.exec(doc) ?? [];
    const meaning = sentence.replace(/;$/, '.');
    return [`\`${variable}\``, value === undefined ? '' : `\`${value}\``, meaning];
  });
  assertGenerated(README, 'common-options', markdownTable(['variable', 'default', 'meaning'], rows));
});

test('docs/configuration.md has the transport options without effect, each with the reason (UPDATE=1 rewrites it)', () => {
  const all = [...Object.entries(WITHOUT_EFFECT), ...Object.entries(WITHOUT_EFFECT_ON_AMQP)];
  const rows = all.map(([key, reason]) => [code(key), reason]);
  for (const [key, reason] of Object.entries(WITHOUT_EFFECT_ON_SENTINELS))
    rows.push([code(`sentinel_kwargs.${key}`), reason]);
  assertGenerated(DOCUMENT, 'transport-options', markdownTable(['without effect', 'because'], rows));
});

test('docs/configuration.md has the transport options with an effect, and the keys of TLS', () => {
  const rows = serviceRows().flatMap(([key, { within, doc }]) =>
    within === undefined ? [] : [[code(servicePath(key).slice(1).join('.')), doc]],
  );
  assertGenerated(DOCUMENT, 'taken-options', markdownTable(['key', 'effect'], rows));
  const keys = Object.entries(TLS_EFFECTS).map(([key, effect]) => [
    ...[AMQP_TLS, REDIS_TLS].map((known) => spelling(known, key)),
    effect,
  ]);
  assertGenerated(DOCUMENT, 'tls-keys', markdownTable(['AMQP', 'Redis', 'effect'], keys));
});

function spelling(known: Readonly<Record<string, { readonly refused?: string }>>, key: string): string {
  const name = [key, `ssl_${key}`].find(
    (one) => known[one] !== undefined && known[one].refused === undefined,
  );
  return name === undefined ? '' : code(name);
}

test('the help of a command has a paragraph for each of its options and no other, the common ones first', () => {
  for (const command of ['run', 'config', 'record', 'metrics'] as const) {
    const paragraphs = optionsHelp(command)
      .split(/\n{1,2}(?= {2}--|[A-Z])/)
      .filter((text) => text.startsWith('  --'));
    const rows = optionRows(command);
    assert.equal(paragraphs.length, rows.length);
    for (const [key, row] of rows) {
      const head = `  ${flagOf(key)}${row.format.schema.type === 'boolean' ? '\n' : ' VALUE\n'}`;
      const paragraph = paragraphs.find((text) => text.startsWith(head)) ?? '';
      for (const name of row.env) assert.ok(paragraph.includes(name), `${key}: ${name}`);
      if (row.default !== undefined)
        assert.ok(
          paragraph.includes(`default: ${row.default};`) || paragraph.endsWith(`default: ${row.default}.`),
          key,
        );
      assert.equal(paragraph.split('\n')[2]?.includes('; required'), row.required === true, key);
      assert.ok(!paragraph.includes('`'), key);
    }
  }
  const run = optionsHelp('run');
  assert.deepEqual(
    [...run.matchAll(/^ {2}(--[\w-]+)/gmu)].slice(0, COMMON_OPTIONS.length).map(([, flag]) => flag),
    COMMON_OPTIONS.map(flagOf),
  );
  assert.deepEqual(
    [...run.matchAll(/^(\w.*):$/gmu)].map(([, title]) => title),
    [
      ...[
        'Common',
        'RabbitMQ',
        'Redis',
        'Traces and logs',
        'Export',
        'Brokers and services',
        'Clusters',
        'The process',
      ],
      'This command',
    ],
  );
});
