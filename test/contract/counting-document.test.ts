/** docs/counting.md has the tables of dropped input, of plausible values, and of what becomes of a run. */
import { test } from 'node:test';
import { NUMERIC_FIELDS } from '../../src/celery/numeric-fields.ts';
import { DROP_REASONS, INTENTIONAL_REASONS } from '../../src/celery/rejection.ts';
import { STANDING_CHANGES, STANDINGS } from '../../src/cluster/tasks/standing.ts';
import { DEATH_RULES } from '../../src/cluster/workers/worker-death.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const COUNTING = new URL('../../docs/counting.md', import.meta.url);

test('docs/counting.md has every reason for dropped input', () => {
  const rows = Object.entries(DROP_REASONS).map(([reason, meaning]) => [
    `\`${reason}\``,
    meaning,
    INTENTIONAL_REASONS.has(reason) ? 'by design' : 'a loss',
  ]);
  assertGenerated(COUNTING, 'reasons', markdownTable(['reason', 'meaning', ''], rows));
});

test('docs/counting.md has every numeric field with its plausible range', () => {
  const rows = Object.entries(NUMERIC_FIELDS).map(([field, { min, max, unit, whole, meaning }]) => [
    `\`${field}\``,
    `${min.toLocaleString('en')} to ${max.toLocaleString('en')}${whole ? ', whole' : ''}`,
    unit,
    meaning,
  ]);
  assertGenerated(COUNTING, 'numeric-fields', markdownTable(['field', 'plausible', 'unit', 'meaning'], rows));
});

test('docs/counting.md has what a run can be, and which fact changes it', () => {
  const rows = Object.entries(STANDINGS).map(([standing, meaning]) => [standing, meaning]);
  assertGenerated(COUNTING, 'standings', markdownTable(['a run is', 'meaning'], rows));
  const changes = Object.values(STANDING_CHANGES).map(({ fact, changes }) => {
    const [to = ''] = Object.values(changes);
    return [fact, Object.keys(changes).join(', '), to];
  });
  assertGenerated(COUNTING, 'standing-changes', markdownTable(['fact', 'a run that is', 'becomes'], changes));
});

test('docs/counting.md has the rules by which a worker is dead', () => {
  const rows = DEATH_RULES.flatMap(({ evidence, after }) => evidence.map((each) => [each, after]));
  assertGenerated(
    COUNTING,
    'deaths',
    markdownTable(['what the worker sends', 'the tasks that it was running are lost'], rows),
  );
});
