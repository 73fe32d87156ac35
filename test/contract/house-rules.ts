/**
 * Rules for every source file, whatever its room: it opens with a comment and has a specific name.
 * Pure: checks texts, reads nothing.
 */
import path from 'node:path';

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
  for (const name of file.path.split('/').map((part) => path.parse(part).name)) {
    if (EMPTY_NAMES.has(name))
      lapses.push(`src/${file.path}: "${name}" says nothing; name it after what it holds.`);
  }
  return lapses;
}
