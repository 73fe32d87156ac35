/** The Dockerfile as it is written: hadolint has no remark, and its promises are in it. `image.release.ts` builds and runs it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../contract/sources.ts';
import { lint, skipWithoutLinters } from './linters.ts';

const TEXT = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/gu, '');
/** Instruction and arguments of each stage, in order. */
const STAGES = TEXT.split(/^(?=FROM )/mu)
  .slice(1)
  .map((stage) =>
    [...stage.matchAll(/^([A-Z]+) (.*)$/gmu)].map(([, name = '', rest = '']) => ({ name, rest })),
  );
const FINAL = STAGES.at(-1) ?? [];
const IGNORED = readFileSync(path.join(ROOT, '.dockerignore'), 'utf8').split('\n');

const argumentsOf = (name: string): readonly string[] =>
  FINAL.filter((instruction) => instruction.name === name).map(({ rest }) => rest);

/** In exec form: what follows an instruction, as a list. */
function listOf(text: string | undefined): readonly string[] {
  const list: unknown = JSON.parse(text ?? 'null');
  assert.ok(Array.isArray(list) && list.every((word) => typeof word === 'string'), text);
  return list;
}

test('hadolint has no remark', { skip: skipWithoutLinters() }, async () => {
  assert.deepEqual(await lint('hadolint', 'Dockerfile'), { code: 0, stdout: '', stderr: '' });
});

test('the base can be replaced and pinned', () => {
  assert.match(TEXT, /^ARG NODE_IMAGE=node:22-bookworm-slim$/mu);
  assert.match(TEXT, /^ARG NODE_DIGEST=$/mu);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the Dockerfile’s.
  const base = '${NODE_IMAGE}${NODE_DIGEST}';
  assert.deepEqual(
    STAGES.map(([from]) => from?.rest),
    [`${base} AS build`, base],
  );
});

test('the last stage runs nothing, so it needs no shell, and its user is a number that is not root', () => {
  assert.deepEqual(argumentsOf('RUN'), []);
  assert.match(argumentsOf('USER').join(), /^[1-9]\d*:[1-9]\d*$/u);
  assert.deepEqual(listOf(argumentsOf('ENTRYPOINT')[0]), ['node', '/app/dist/cli/main.js']);
  assert.deepEqual(listOf(argumentsOf('CMD')[0]), ['run']);
});

test('its health is asked of the port that it says', () => {
  const [health = ''] = argumentsOf('HEALTHCHECK');
  const [node, flag, code = ''] = listOf(health.slice(health.indexOf('CMD ') + 4));
  assert.deepEqual([node, flag], ['node', '--eval']);
  const [port = ''] = argumentsOf('EXPOSE');
  assert.ok(code.includes(`http://127.0.0.1:${port}/livez`), code);
  assert.ok(argumentsOf('ENV').includes(`CELERY_OTEL_STATUS_ADDRESS=0.0.0.0:${port}`));
});

test('its labels have the version and the licence of the package', () => {
  const labels = new Map(
    [
      ...argumentsOf('LABEL')
        .join()
        .matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/gu),
    ].map(([, name, value]) => [name, value]),
  );
  assert.deepEqual([...labels.keys()], ['title', 'description', 'licenses', 'version']);
  assert.equal(labels.get('licenses'), manifest.license);
  assert.ok(argumentsOf('ARG').includes(`VERSION=${manifest.version}`));
});

test('the build sees what it copies and nothing else', () => {
  const copied = STAGES.flat()
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from='))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
  assert.deepEqual(
    copied.filter((file) => !existsSync(path.join(ROOT, file))),
    [],
  );
  const seen = IGNORED.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  assert.equal(
    IGNORED.find((line) => line !== '' && !line.startsWith('#')),
    '*',
  );
  assert.deepEqual(copied.toSorted(), seen.toSorted());
});
