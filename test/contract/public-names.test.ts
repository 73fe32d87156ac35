/** The library exports what is promised, and nothing else. The packed library is tried by package.release.ts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PUBLIC_TYPES, PUBLIC_VALUES } from './public-names.ts';
import { ROOT } from './sources.ts';

test('all public names are listed, including types', () => {
  const index = readFileSync(path.join(ROOT, 'src/index.ts'), 'utf8');
  assert.doesNotMatch(index, /export \*/u);
  const exported = [...index.matchAll(/export (type )?\{([^}]*)\}/gu)].flatMap(([, allTypes, list = '']) =>
    list
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean)
      .map((name) => (allTypes === undefined ? name : `type ${name}`)),
  );
  const promised = [...PUBLIC_VALUES, ...PUBLIC_TYPES.map((name) => `type ${name}`)];
  assert.deepEqual(exported.sort(), promised.sort());
});
