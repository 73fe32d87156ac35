/** The table of the page’s files has all of them, and the page asks for no other. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { statusPage } from '../../src/cli/status-page.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../page');

test('each file of the page is served, and what the page refers to is there', () => {
  const page = statusPage();
  const paths = globSync('*.{css,html,js,svg}', { cwd: FOLDER }).map((name) =>
    name === 'index.html' ? '/' : `/${name}`,
  );
  assert.deepEqual([...page.keys()].sort(), paths.sort());
  const others = ['/status.json', '/services/0.json', '/events'];
  for (const [file, { text }] of page) {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\//gu, '');
    for (const [, reference = ''] of code.matchAll(
      /(?:src=|href=|from |fetch\(|EventSource\()['"]([^'"]+)['"]/gu,
    )) {
      const target = reference.replace(/^\.\//u, '/');
      assert.ok(page.has(target) || others.includes(target), `${file} refers to ${reference}`);
    }
  }
});

test('nothing of the page turns text into markup or code', () => {
  for (const [file, { text }] of statusPage())
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|\son\w+=|\sstyle=|javascript:/u,
      file,
    );
});
