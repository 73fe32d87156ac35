/** docs/configuration.md agrees with the table about each key of the standard. */
import { test } from 'node:test';
import { assertGenerated, markdownTable } from '../../contract/generated-block.ts';
import { STANDARD } from '../file/standard-shapes.ts';

const DOCUMENT = new URL('../../../docs/configuration.md', import.meta.url);

/** Keys grouped by their parent. */
function honoured(): string {
  const isLeaf = (path: string): boolean =>
    ![...STANDARD.keys()].some((other) => /^[.[]/.test(other.slice(path.length)) && other.startsWith(path));
  const paths = [...STANDARD].flatMap(([path, shape]) =>
    shape.refused === undefined && isLeaf(path) ? [path] : [],
  );
  const byParent = Map.groupBy(paths, (path) => path.replace(/\.?[^.]*$/, ''));
  const code = (text: string): string => `\`${text}\``;
  return [...byParent]
    .map(([parent, keys]) => {
      const names = keys.map((key) => code(key.slice(parent === '' ? 0 : parent.length + 1))).join(', ');
      return parent === '' ? `- ${names}` : `- ${code(parent)}: ${names}`;
    })
    .join('\n');
}

function refused(): string {
  const rows = [...STANDARD].flatMap(([path, shape]) =>
    shape.refused === undefined ? [] : [[`\`${path}\``, shape.refused]],
  );
  return markdownTable(['refused', 'because'], rows);
}

test('docs/configuration.md lists the supported and refused keys of the standard (UPDATE=1 rewrites it)', () => {
  assertGenerated(
    DOCUMENT,
    'standard',
    [honoured(), 'Everything else is refused, by its path:', refused()].join('\n\n'),
  );
});
