/** The table of the page’s files has all of them, and the page asks for no other. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pageFiles, statusPages } from '../../src/cli/status-page.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../page');

test('each file of the page is served, and what the page refers to is there', () => {
  const [page, fileOf] = [pageFiles(), statusPages()];
  const paths = globSync('*.{css,html,js,svg}', { cwd: FOLDER }).map((name) =>
    name === 'index.html' ? '/' : `/${name}`,
  );
  assert.deepEqual([...page.keys()].sort(), paths.sort());
  const others = ['/status.json', '/events', '#content'];
  for (const [file, { text }] of page) {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\//gu, '');
    for (const [, reference = ''] of code.matchAll(
      /(?:src=|href=|from |fetch\(|EventSource\()['"]([^'"]+)['"]/gu,
    )) {
      const target = reference.replace(/^\.\//u, '/');
      assert.ok(fileOf(target) !== undefined || others.includes(target), `${file} refers to ${reference}`);
    }
  }
});

test('nothing of the page turns text into markup or code', () => {
  for (const [file, { text }] of pageFiles())
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|\son\w+=|\sstyle=|javascript:/u,
      file,
    );
});

test('each page is the same document, and nothing else is', () => {
  const fileOf = statusPages();
  const document = fileOf('/');
  assert.equal(document?.type, 'text/html');
  for (const path of ['/problems', '/bridge', '/services/shop', '/services/a%2Fb/tasks/shop.pay'])
    assert.equal(fileOf(path), document, path);
  for (const path of [
    '/services/0.json',
    '/services/%zz',
    '/services/shop/tasks',
    '/index.html',
    '/problems/',
  ])
    assert.equal(fileOf(path), undefined, path);
});
