/** Paths and pages: each name comes back as it was, and nothing else is a page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentPathOf, type Place, pathOf, placeOf } from '../../src/view/address.ts';

const NAMES = ['shop', 'a/b', 'über 100 %', '?q#x', '0.json', 'celery@web-1', '<b>', '日本', 'a\\u001b'];

test('the path of a page stands for that page, whatever its names are', () => {
  const places: readonly Place[] = [
    ...(['overview', 'problems', 'bridge'] as const).map((page) => ({ page })),
    ...NAMES.filter((name) => name !== '0.json').map((service) => ({ page: 'service', service }) as const),
    ...NAMES.map((id) => ({ page: 'run', id }) as const),
    ...NAMES.flatMap((name) =>
      (['task', 'queue', 'worker'] as const).map((page) => ({ page, service: name, name })),
    ),
  ];
  for (const place of places) {
    const path = pathOf(place);
    assert.match(path, /^\/[\w/%@.!~*'()-]*$/u);
    assert.deepEqual(placeOf(path), place);
  }
});

test('a name has one segment, and half a character does not break its link', () => {
  assert.equal(pathOf({ page: 'task', service: 'a/b', name: 'c d' }), '/services/a%2Fb/tasks/c%20d');
  assert.equal(pathOf({ page: 'service', service: '\ud800' }), '/services/%EF%BF%BD');
});

test('a row and an id have documents of their own, and other pages none', () => {
  const details = '/services/12.json';
  const row = { page: 'queue', service: 'a', name: 'b/c' } as const;
  assert.equal(documentPathOf(row, details), '/details/12/queues/b%2Fc');
  assert.equal(documentPathOf(row, ''), '');
  assert.equal(documentPathOf({ page: 'run', id: '../<' }, ''), '/details/find/..%2F%3C');
  assert.equal(documentPathOf({ page: 'service', service: 'a' }, details), '');
});

test('documents and other paths are no pages', () => {
  for (const path of [
    ...['', '/problems/', '/Problems', '/services', '/services/', '/services/0.json', '/services/1234.json'],
    ...['/services/shop/', '/services/shop/tasks', '/services/shop/tasks/', '/services/shop/tasks/a/b'],
    ...['/services/shop/exports/a', '/services//tasks/a', '/services/%zz', '/services/shop/tasks/%e0%a4'],
    ...['/runs', '/runs/', '/runs/a/b', '/runs/%zz'],
    ...['//problems', '/status.json', '/page.js', '/livez'],
  ])
    assert.equal(placeOf(path), undefined, path);
});
