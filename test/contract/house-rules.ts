/**
 * Rules for every source file, whatever its room: it opens with a comment, stays short and has a specific name.
 * Pure: checks texts, reads nothing.
 */
import path from 'node:path';

/** A longer file has a second subject. Tables are exempt: splitting one would make two lists of one kind. */
const LINES_MAX = 300;
/** Names that say nothing about the content. */
const EMPTY_NAMES = new Set([
  'utils',
  'util',
  'helpers',
  'helper',
  'manager',
  'common',
  'types',
  'misc',
  'shared',
]);
const OPENING_COMMENT = /^(?:#![^\n]*\n)?\s*(\/\*\*?[\s\S]*?\*\/|(?:\/\/[^\n]*\n)+)/;

/** Every rule that the file breaks, as a sentence. */
export function findLapses(file: { readonly path: string; readonly text: string }): readonly string[] {
  const lapses: string[] = [];
  const opening = OPENING_COMMENT.exec(file.text)?.[1];
  if (opening === undefined) {
    lapses.push(`src/${file.path} must open with a comment: what it owns, and what it never does.`);
  }
  const lines = file.text.trimEnd().split('\n').length;
  if (lines > LINES_MAX && !/\btables?\b/i.test(opening ?? '')) {
    lapses.push(
      `src/${file.path} has ${lines} lines, ${LINES_MAX} are the most: give its second subject a file of its own. ` +
        '(If it is one long table, its opening comment has to say so.)',
    );
  }
  for (const name of file.path.split('/').map((part) => path.parse(part).name)) {
    if (EMPTY_NAMES.has(name))
      lapses.push(`src/${file.path}: "${name}" says nothing; name it after what it holds.`);
  }
  return lapses;
}
