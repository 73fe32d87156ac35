/** The questions of docs/queries.md with their queries, as data. It asks nothing. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../contract/sources.ts';

export interface Question {
  readonly title: string;
  readonly queries: readonly string[];
  /** How to read the answers. */
  readonly reading: string;
}

const BLOCK = /```promql\n([^`]*)\n```\n/gu;

export function questions(): readonly Question[] {
  const document = readFileSync(path.join(ROOT, 'docs/queries.md'), 'utf8');
  return document
    .replaceAll(/^## .*$/gmu, '')
    .split(/^### /mu)
    .slice(1)
    .map((section) => {
      const [title = ''] = section.split('\n', 1);
      const queries = [...section.matchAll(BLOCK)].map(([, query = '']) => query);
      return { title, queries, reading: section.slice(title.length).replaceAll(BLOCK, '').trim() };
    });
}
