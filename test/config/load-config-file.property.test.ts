/** For any value at any place of a file, the outcome is a configuration or printable mistakes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { resolveConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import { effectiveConfig } from '../../src/config/show/effective-config.ts';
import { fc } from '../seed.ts';
import { EXAMPLE_WITH_TRACES, fileWith, setVariables } from './configuration-files.ts';

const RUNS = 150;

type Place = { readonly holder: object; readonly key: string };

/** Every place of a document that can be changed. */
function* placesIn(node: unknown): Generator<Place> {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    yield { holder: node, key };
    yield* placesIn(value);
  }
}

const value = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    '',
    ' ',
    'x',
    'amqp://a',
    `\${`,
    `\${A}`,
    `\${A:-5}`,
    '$$',
  ),
  fc.constantFrom<unknown>(
    [],
    {},
    [null],
    [[]],
    [{}],
    { '': 1 },
    { __proto__: null, x: {} },
    ['a', 1],
    [1, 2],
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

test('any value at any place gives an outcome that can be printed', (t) => {
  setVariables(t, {
    SHOP_BROKER_URL: 'amqp://me:hunter2@shop',
    BILLING_BROKER_URL: 'amqp://billing',
    STOCK_BROKER_URL: 'sentinel://:hunter2@stock',
    STOCK_SENTINEL_PASSWORD: 'hunter2',
  });
  const count = [...placesIn(parse(EXAMPLE_WITH_TRACES))].length;
  let loaded = 0;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(count - 1), value, fc.boolean()), { minLength: 1, maxLength: 3 }),
      (changes) => {
        const document = parse(EXAMPLE_WITH_TRACES);
        for (const [index, changed, remove] of changes) {
          const place = [...placesIn(document)][index];
          if (place === undefined) continue;
          if (remove) Reflect.deleteProperty(place.holder, place.key);
          // A copy: the same value may come again, within itself.
          else Reflect.set(place.holder, place.key, structuredClone(changed));
        }
        const resolved = resolveConfig('run', { argv: ['--config', fileWith(stringify(document))], env: {} });
        if (resolved.ok) loaded += 1;
        const said = resolved.ok
          ? effectiveConfig(resolved.config, resolved.origins, 'all').text
          : resolved.mistakes.map(describeMistake).join('\n');
        assert.ok(said.length > 0);
        assert.doesNotMatch(said, /[^\P{Cc}\n]|hunter2|\[object |undefined/u);
      },
    ),
    { numRuns: RUNS },
  );
  assert.ok(loaded > 0.05 * RUNS && loaded < 0.95 * RUNS, `${loaded} of ${RUNS} were right`);
});
