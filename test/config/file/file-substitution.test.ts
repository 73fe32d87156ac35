import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfigFile } from '@opentelemetry/configuration';
import { parseDocument } from 'yaml';
import { substitute } from '../../../src/config/file/file-substitution.ts';
import { fc } from '../../seed.ts';
import { fileWith, setVariables } from '../configuration-files.ts';

/** Substitution as by the standard's parser, with our section in the document. */
function theirs(text: string): unknown {
  try {
    return { ...parseConfigFile(fileWith(text)) };
  } catch (error) {
    assert.ok(error instanceof Error);
    assert.match(error.message, /invalid env var substitution/);
    return 'malformed';
  }
}

function ours(text: string): unknown {
  const document = parseDocument(text, { version: '1.2' });
  if (substitute(document).malformed.length > 0) return 'malformed';
  const { file_format: _, ...rest } = document.toJS();
  return rest;
}

test('a document is substituted as by the standard’s parser', (t) => {
  setVariables(t, {
    S_TEXT: 'text: with # things',
    S_NUMBER: '0x1F',
    S_TRUE: 'true',
    S_NULL: '~',
    S_LIST: '[1, 2]',
  });
  setVariables(t, {
    S_EMPTY: '',
    S_BLANK: ' ',
    S_TAG: '"quoted"',
    S_REF: `\${S_TEXT}`,
    S_LONG: '12345678901234567890',
  });
  const name = fc.constantFrom(
    ...['TEXT', 'NUMBER', 'TRUE', 'NULL', 'LIST', 'EMPTY', 'BLANK', 'TAG', 'REF', 'LONG', 'UNSET'].map(
      (n) => `S_${n}`,
    ),
  );
  const reference = fc
    .tuple(fc.constantFrom('', 'env:'), name, fc.constantFrom('', ':-', ':-x', ':-5', ':-a b', ':=', '-x'))
    .map((parts) => `\${${parts.join('')}}`);
  const piece = fc.oneof(
    reference,
    fc.constantFrom('$', '$$', '$$$', 'a', '1', '{', '}', `\${`, `\${}`, ' ', '.'),
  );
  const text = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''));
  const scalar = fc.oneof(
    text.filter((it) => /^[$a1.]/.test(it) && !/[{}]$/.test(it.replaceAll(/\$\{[^}]*\}/g, ''))),
    text.map((it) => `'${it}'`),
    text.map((it) => `"${it}"`),
  );
  let malformed = 0;
  fc.assert(
    fc.property(fc.array(scalar, { maxLength: 4 }), scalar, (items, value) => {
      const lines = [
        'file_format: "1.0"',
        'celery:',
        `  "\${S_TEXT}": 1`,
        '  one:',
        `    ${value}`,
        '  many:',
      ];
      const document = `${[...lines, ...items.map((item) => `    - ${item}`)].join('\n')}\n`;
      if (parseDocument(document).errors.length > 0) return;
      const expected = theirs(document);
      if (expected === 'malformed') malformed += 1;
      assert.deepEqual(ours(document), expected);
    }),
    { numRuns: 600 },
  );
  assert.ok(malformed > 20 && malformed < 500, `${malformed} of 600 were malformed`);
});

test('unset and empty variables without a default are reported', (t) => {
  setVariables(t, { S_EMPTY: '', S_TEXT: 'x' });
  const document = parseDocument(`a: \${S_UNSET}-\${S_EMPTY}-\${S_TEXT}\nb: \${S_UNSET:-x}\${S_EMPTY:-}\n`);
  const { unset, variables } = substitute(document);
  assert.deepEqual([...unset.values()], [['S_UNSET', 'S_EMPTY']]);
  assert.deepEqual([...variables], ['S_UNSET', 'S_EMPTY', 'S_TEXT']);
  assert.deepEqual(document.toJS(), { a: '--x', b: 'x' });
});
