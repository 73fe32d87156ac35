import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRecentEnough, NODE_MIN } from '../../src/cli/node-version.ts';

test('the minimum is that of package.json', () => {
  const manifest: { engines: { node: string } } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  assert.equal(manifest.engines.node, `>=${NODE_MIN}`);
});

test('versions are compared numerically, part by part', () => {
  const cases: [version: string, recent: boolean][] = [
    ['22.15.0', true],
    ['22.15.1', true],
    ['22.100.0', true],
    ['23.0.0', true],
    ['100.0.0', true],
    ['22.14.9', false],
    ['22.9.0', false],
    ['20.20.2', false],
    ['9.99.99', false],
  ];
  for (const [version, recent] of cases) assert.equal(isRecentEnough(version, '22.15.0'), recent, version);
});

test('no module is statically imported before the check', () => {
  const imports = (name: string) => {
    const source = readFileSync(new URL(`../../src/cli/${name}`, import.meta.url), 'utf8');
    return [...source.matchAll(/^(?:import|export)\b[^;]*? from '([^']+)'|^import '([^']+)'/gm)].map(
      ([, from, bare]) => from ?? bare,
    );
  };
  assert.deepEqual(imports('main.ts'), ['./node-version.ts']);
  assert.deepEqual(imports('node-version.ts'), []);
});
