/** The sources follow the house rules, and a breach would be detected. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLapses } from './house-rules.ts';
import { readSources } from './sources.ts';

const OPENING = '/** Says what it is. */\n';

test('every source file opens with a comment and has a specific name', () => {
  const sources = readSources();
  assert.notEqual(sources.length, 0);
  assert.deepEqual(sources.flatMap(findLapses), []);
});

test('a file without an opening comment is reported, with or without a shebang line', () => {
  for (const text of ['export const a = 1;\n/** Late. */\n', '#!/usr/bin/env node\nimport "a";\n']) {
    assert.match(findLapses({ path: 'celery/a.ts', text }).join(), /must open with a comment/);
  }
  for (const text of [OPENING, `#!/usr/bin/env node\n${OPENING}`, '// Says what it is.\n']) {
    assert.deepEqual(findLapses({ path: 'celery/a.ts', text }), []);
  }
});

test('an unspecific name of a file or folder is reported', () => {
  for (const path of ['celery/utils.ts', 'common/event.ts', 'types.ts']) {
    assert.match(findLapses({ path, text: OPENING }).join(), /says nothing/);
  }
});
