/** What patterns with wildcards match. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wildcard } from '../../src/text/wildcard.ts';
import { fc } from '../seed.ts';

const CASES: Readonly<Record<string, { readonly fits: readonly string[]; readonly not: readonly string[] }>> =
  {
    'celery.task.sent': {
      fits: ['celery.task.sent'],
      not: ['celery_task_sent', 'celery.task.sent2', 'my.celery.task.sent', 'Celery.task.sent', ''],
    },
    'celery.task.*': { fits: ['celery.task.', 'celery.task.sent', 'celery.task.a.b'], not: ['celery.task'] },
    '*': { fits: ['', 'anything', 'two\nlines'], not: [] },
    '?': { fits: ['a', '.', 'é', '😀', '\n'], not: ['', 'ab'] },
    '*.a?*': { fits: ['x.ab', '.a.', 'x.y.abc'], not: ['x.a', 'xab'] },
    '**': { fits: ['', 'ab'], not: [] },
    '': { fits: [''], not: ['a'] },
    'a+(b)[c]{1}|^$\\d/-': { fits: ['a+(b)[c]{1}|^$\\d/-'], not: ['aa(b)[c]{1}|^$\\d/-', ''] },
  };

for (const [pattern, { fits, not }] of Object.entries(CASES)) {
  test(`the pattern ${JSON.stringify(pattern)} matches as specified`, () => {
    const matches = wildcard(pattern);
    for (const text of fits) assert.ok(matches(text), JSON.stringify(text));
    for (const text of not) assert.ok(!matches(text), JSON.stringify(text));
  });
}

test('case matters unless it is to be ignored', () => {
  assert.ok(!wildcard('Celery.*')('celery.sent'));
  assert.ok(wildcard('Celery.*', { ignoreCase: true })('celery.SENT'));
});

/** By the definition, character by character. */
function fitsByDefinition([first, ...rest]: readonly string[], text: readonly string[]): boolean {
  if (first === undefined) return text.length === 0;
  if (first === '*') return [...text, ''].some((_, from) => fitsByDefinition(rest, text.slice(from)));
  return text.length > 0 && (first === '?' || first === text[0]) && fitsByDefinition(rest, text.slice(1));
}

test('any pattern and text match as defined', () => {
  const characters = fc.constantFrom('a', 'b', '.', '?', '*', '\\', '[', '$', '😀');
  const text = fc.array(characters, { maxLength: 6 });
  fc.assert(
    fc.property(text, text, (pattern, given) => {
      assert.equal(wildcard(pattern.join(''))(given.join('')), fitsByDefinition(pattern, given));
    }),
    { numRuns: 500 },
  );
});

test('a pattern that has many ways to match is not fulfilled by any', () => {
  assert.equal(wildcard(`${'*?'.repeat(40)}!`)('celery.task.prefetch_time'.repeat(10)), false);
});
