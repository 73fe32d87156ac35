/** The documents agree with the code, their links work, and the first ones to read are short. */
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { CAUSES } from '../../src/broker/likely-cause.ts';
import { MAP_VARIABLES } from '../../src/config/celery-maps.ts';
import { OLD_NAMES, SERIALIZERS, UNREAD } from '../../src/config/celery-variables.ts';
import { optionRows } from '../../src/config/options.ts';
import { STANDARD_VARIABLES } from '../../src/config/standard-variables.ts';
import { SYMPTOMS } from '../../src/health/symptoms.ts';
import { RUN_EVENTS, WORKER_EXIT_EVENTS, WORKER_ONLINE } from '../../src/logger/log-events.ts';
import { ATTRIBUTES, TASK_ID } from '../../src/meter/attributes.ts';
import { METRICS, OPT_INS, SELF_METRICS } from '../../src/meter/catalog.ts';
import { VERSION } from '../../src/self/version.ts';
import { ERROR_CODES } from '../../src/text/errors.ts';
import { OWN_ATTRIBUTES, SHARED_ATTRIBUTES } from '../../src/tracer/span-attributes.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';
import { codeSpans, findDeadLinks } from './links.ts';
import { ROOT } from './sources.ts';

const EMBEDDING = new URL('../../docs/embedding.md', import.meta.url);

function readText(file: string): string | undefined {
  const found = statSync(path.join(ROOT, file), { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return found.isDirectory() ? '' : readFileSync(path.join(ROOT, file), 'utf8');
}

test('docs/embedding.md has every error code', () => {
  const rows = Object.entries(ERROR_CODES).map(([code, meaning]) => [`\`${code}\``, meaning]);
  assertGenerated(EMBEDDING, 'errors', markdownTable(['code', 'meaning'], rows));
});

test('docs/troubleshooting.md has every symptom that a check can find', () => {
  const rows = Object.values(SYMPTOMS).flatMap((row) =>
    'cause' in row ? [[`\`${row.line.replaceAll(/\{[\w: ]+\}/gu, '…')}\``, row.cause, row.remedy]] : [],
  );
  const table = markdownTable(['line', 'cause', 'remedy'], rows);
  assertGenerated(new URL('../../docs/troubleshooting.md', import.meta.url), 'check', table);
});

test('docs/troubleshooting.md has every cause of a failed connection', () => {
  const shown = (text: string): string => text.replaceAll(/\{\w+\}/gu, '…');
  const rows = CAUSES.map(({ cause, remedy }) => [`\`${shown(cause)}\``, sentence(shown(remedy))]);
  const table = markdownTable(['line', 'remedy'], rows);
  assertGenerated(new URL('../../docs/troubleshooting.md', import.meta.url), 'causes', table);
});

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

test('docs/configuration.md has every variable without effect', () => {
  const standard = [...STANDARD_VARIABLES].flatMap(([name, effect]) =>
    effect.kind === 'without effect' ? [[name, effect.because] as const] : [],
  );
  const old = [...OLD_NAMES].map(([name, read]) => [name, `it is an old name; set ${read}`] as const);
  const rows = [...standard, ...UNREAD, ...old].map(([name, because]) => [`\`${name}\``, because]);
  const table = markdownTable(['variable', 'because'], rows);
  assertGenerated(new URL('../../docs/configuration.md', import.meta.url), 'unused-variables', table);
});

test('README.md and ARCHITECTURE.md are short', () => {
  for (const [document, linesMax] of [
    ['README.md', 150],
    ['ARCHITECTURE.md', 90],
  ] as const) {
    const lines = readText(document)?.trimEnd().split('\n').length ?? Number.POSITIVE_INFINITY;
    assert.ok(lines <= linesMax, `${document} has ${lines} lines, ${linesMax} are the most`);
  }
});

test('the changelog has a heading for this version', () => {
  const headings = [...(readText('CHANGELOG.md') ?? '').matchAll(/^## (\S+)/gmu)].map(
    ([, version]) => version,
  );
  assert.ok(headings.includes(VERSION), `CHANGELOG.md has ${headings.join(', ')}, not ${VERSION}`);
});

function allDocuments(): readonly string[] {
  const exclude = (name: string) => /^(?:node_modules|dist|\..+)$/u.test(path.basename(name));
  const documents = globSync('**/*.md', { cwd: ROOT, exclude });
  assert.ok(documents.includes('README.md'));
  return documents;
}

test('no link within the repository is dead', () => {
  assert.deepEqual(
    allDocuments().flatMap((document) => findDeadLinks(document, readText)),
    [],
  );
});

/** Variables of other programs, and those that Kubernetes derives from our name. */
const OTHER_VARIABLES = ['CELERY_OTEL_', 'CELERY_OTEL_PORT', 'CELERY_OTEL_SERVICE_HOST'];

test('files, metrics, attributes, events and variables named in documents exist', () => {
  const tables = [METRICS, SELF_METRICS, ATTRIBUTES, SHARED_ATTRIBUTES, OWN_ATTRIBUTES];
  const events = [...Object.values(RUN_EVENTS), WORKER_ONLINE, ...Object.values(WORKER_EXIT_EVENTS)];
  const names = new Set([
    ...tables.flatMap((table) => Object.keys(table)),
    ...events.map((event) => event?.eventName),
    TASK_ID,
  ]);
  const variables = new Set([
    ...optionRows().flatMap(([, { env }]) => env),
    ...STANDARD_VARIABLES.keys(),
    ...UNREAD.keys(),
    ...OLD_NAMES.keys(),
    ...SERIALIZERS.keys(),
    ...MAP_VARIABLES,
    ...OTHER_VARIABLES,
  ]);
  const isThere = (span: string): boolean => {
    if (/^(?:src|test|scripts|examples|docs|otel-config)\/[\w./-]+$/u.test(span)) {
      return readText(span) !== undefined;
    }
    if (/^(?:celery_otel|celery\.(?:task|worker))\.[a-z_.]+$/u.test(span)) return names.has(span);
    if (/^celery\.[\w.]+\/\S+$/u.test(span)) return OPT_INS.some((optIn) => optIn === span);
    if (/^(?:CELERY|OTEL)_[A-Z_]+$/u.test(span)) return variables.has(span);
    return true;
  };
  const unknown = allDocuments()
    .filter((document) => document !== 'CHANGELOG.md')
    .flatMap((document) => codeSpans(readText(document) ?? '').map((span) => [document, span] as const))
    .filter(([, span]) => !isThere(span));
  assert.deepEqual(unknown, []);
});

test('docs/troubleshooting.md quotes real log lines', () => {
  const said = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => readText(file) ?? '');
  const table = readText('docs/troubleshooting.md') ?? '';
  const symptoms = [...table.matchAll(/^\| ([^|]*) \|/gmu)].flatMap(([, cell = '']) => codeSpans(cell));
  const parts = symptoms.filter((symptom) => symptom.includes('…')).flatMap((line) => line.split('…'));
  assert.ok(parts.length > 20);
  const quoted = parts.map((part) => part.trim()).filter(Boolean);
  assert.deepEqual(
    quoted.filter((part) => !said.some((text) => text.includes(part))),
    [],
  );
});

test('dead links to files and headings are found, and live ones are not reported', () => {
  const tree = new Map([
    ['docs', ''],
    ['docs/a.md', '# One\n## The `two` of us, twice\n## One\n```\n# not a heading\n```\n'],
    [
      'README.md',
      [
        '[file](docs/a.md) [folder](docs) [titled](docs/a.md "A") [web](https://example.com/x.md) <https://example.com>',
        '[heading](docs/a.md#the-two-of-us-twice) [second](docs/a.md#one-1) [own](#top) `[code](nowhere.md)`',
        '# Top\n```\n[code](nowhere.md)\n```\n[reference]: docs/a.md',
        '[gone](docs/b.md) [no heading](docs/a.md#two) [code](docs/a.md#not-a-heading)\n[other]: nowhere.md',
      ].join('\n'),
    ],
  ]);
  assert.deepEqual(
    findDeadLinks('README.md', (file) => tree.get(file)),
    [
      'README.md links to docs/b.md, which is not there.',
      'README.md links to docs/a.md#two, but docs/a.md has no such heading.',
      'README.md links to docs/a.md#not-a-heading, but docs/a.md has no such heading.',
      'README.md links to nowhere.md, which is not there.',
    ],
  );
});
