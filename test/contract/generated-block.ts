/** Compares a document, or a part of one, with the table that it is generated from; `UPDATE=1` rewrites it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** The part is between `<!-- NAME:begin -->` and `<!-- NAME:end -->`, which must exist. */
export function assertGenerated(file: URL, name: string, content: string): void {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const document = readFileSync(file, 'utf8');
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  assert.ok(from !== -1 && from < to, `${file.pathname} lacks the lines ${begin} and ${end}`);
  const wanted = `${begin}\n\n${content}\n\n`;
  if (document.slice(from, to) === wanted) return;
  assert.equal(
    process.env['UPDATE'],
    '1',
    `${file.pathname}, ${name}: differs from the code; UPDATE=1 rewrites it`,
  );
  writeFileSync(file, document.slice(0, from) + wanted + document.slice(to));
}

/** The whole document is generated; it may not exist yet. */
export function assertGeneratedFile(file: URL, content: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === content) return;
  assert.equal(process.env['UPDATE'], '1', `${file.pathname} differs from the code; UPDATE=1 rewrites it`);
  writeFileSync(file, content);
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
