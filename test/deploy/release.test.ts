/** That a release is of one version, and that the workflows which make it are valid. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../contract/sources.ts';
import { lint, skipWithoutLinters } from './linters.ts';

const WORKFLOWS = ['.github/workflows/test.yml', '.github/workflows/release.yml'] as const;

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

test('package, program, image and chart have one version', () => {
  const chart: { readonly version: string; readonly appVersion: string } = parse(
    read('deploy/helm/celery-otel/Chart.yaml'),
  );
  const [, ofImage] = /^ARG VERSION=(.*)$/mu.exec(read('Dockerfile')) ?? [];
  const [, ofProgram] = /VERSION = '(.*)'/u.exec(read('src/self/version.ts')) ?? [];
  assert.deepEqual(
    [chart.version, chart.appVersion, ofImage, ofProgram],
    Array.from({ length: 4 }, () => manifest.version),
  );
});

test('the workflows satisfy their schema', { skip: skipWithoutLinters() }, async () => {
  for (const file of WORKFLOWS) {
    const { code, stdout, stderr } = await lint(
      ...(['check-jsonschema', '--builtin-schema', 'vendor.github-workflows'] as const),
      file,
    );
    assert.equal(code, 0, stdout + stderr);
  }
});

test('the workflow of changes runs what is run before a merge', () => {
  assert.match(read(WORKFLOWS[0]), /run: \.ci\/run$/mu);
});

test('actions are named by commit, and no install script runs', () => {
  for (const workflow of WORKFLOWS) {
    const text = read(workflow);
    for (const [, action = '', version = ''] of text.matchAll(/uses: (\S+)@(\S+)/gu))
      assert.match(version, /^[0-9a-f]{40}$/u, `${action} in ${workflow}`);
    for (const [command] of text.matchAll(/npm (?:ci|install).*/gu))
      assert.match(command, /--ignore-scripts/u, workflow);
  }
});
