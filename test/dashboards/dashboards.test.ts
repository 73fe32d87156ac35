/** The dashboards are those of the code, and keep the rules that a linter for Grafana has. No Grafana renders them. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { DASHBOARDS } from '../../dashboards/source/dashboards.ts';
import { renderedDashboard } from '../../dashboards/source/rendered-dashboard.ts';
import { assertGeneratedFile } from '../contract/generated-block.ts';
import { findLapses } from '../contract/house-rules.ts';
import { ROOT } from '../contract/sources.ts';
import { lapsesOf, panelsOf } from './linted.ts';

const rendered = Object.entries(DASHBOARDS).map(([file, table]): readonly [string, Dashboard] => [
  file,
  renderedDashboard(table),
]);

for (const [file, dashboard] of rendered) {
  test(`dashboards/${file} is what the code makes`, () => {
    const url = new URL(`../../dashboards/${file}`, import.meta.url);
    assertGeneratedFile(url, `${JSON.stringify(dashboard, null, 2)}\n`);
  });

  test(`${dashboard.title} keeps the rules`, () => {
    assert.deepEqual(lapsesOf(dashboard), []);
  });
}

test('there are no other dashboards, and each has an address of its own', () => {
  assert.deepEqual(globSync('*.json', { cwd: `${ROOT}/dashboards` }).sort(), Object.keys(DASHBOARDS).sort());
  const uids = new Set(rendered.map(([, { uid }]) => uid));
  assert.equal(uids.size, rendered.length);
});

test('the code keeps the house rules', () => {
  const files = globSync('dashboards/source/*.ts', { cwd: ROOT });
  assert.ok(files.length > 5);
  const texts = files.map((file) => ({ path: file, text: readFileSync(`${ROOT}/${file}`, 'utf8') }));
  assert.deepEqual(texts.flatMap(findLapses), []);
});

test('links lead to dashboards that are there', () => {
  const uids = rendered.map(([, { uid }]) => uid);
  const led = JSON.stringify(rendered).matchAll(/"\/d\/([\w-]+)\?/gu);
  const targets = [...led].map(([, uid]) => uid);
  assert.ok(targets.length > 10);
  assert.deepEqual(
    targets.filter((uid) => !uids.includes(uid)),
    [],
  );
});

test('the histograms of runtimes and waiting times show exemplars', () => {
  const without = rendered
    .flatMap(([, dashboard]) => panelsOf(dashboard))
    .filter(({ type }) => type === 'timeseries')
    .filter(({ targets = [] }) => {
      const text = JSON.stringify(targets);
      return /(?:runtime|wait_time)_seconds_bucket/u.test(text) && !text.includes('"exemplar":true');
    })
    .map(({ title }) => title);
  assert.deepEqual(without, ['Runtime p95 of failures and successes'], 'which would have two of each');
});

test('each rule would notice its breach', () => {
  const [[, sound] = assert.fail()] = rendered;
  const broken = (change: (panel: Record<string, unknown>) => void): readonly string[] => {
    const copy: Dashboard = JSON.parse(JSON.stringify(sound));
    const [panel = assert.fail()] = panelsOf(copy);
    const fields: Record<string, unknown> = {};
    change(fields);
    Object.assign(panel, fields);
    return lapsesOf(copy);
  };
  const asking = (expr: string, legendFormat = '') => ({ targets: [{ refId: 'A', expr, legendFormat }] });
  for (const [change, lapse] of [
    [{ title: '' }, /has no title/u],
    [{ description: '' }, /has no description/u],
    [{ datasource: { type: 'prometheus', uid: 'x' } }, /another data source/u],
    [{ fieldConfig: { defaults: {}, overrides: [] } }, /has no unit/u],
    [{ id: 3 }, /the id 3 twice/u],
    [{ gridPos: { x: 3, y: 1, w: 3, h: 4 } }, /overlap/u],
    [{ gridPos: { x: 22, y: 90, w: 3, h: 4 } }, /beside the grid/u],
    [asking('sum(rate(celery_task_failed_total[5m]))'), /a range of its own/u],
    [asking('sum(celery_task_failed_total)'), /is a counter/u],
    [asking('sum(celery_worker_up{job="$cluster"})'), /no variable cluster/u],
    [
      asking('sum by (job) (celery_worker_up)', '{{celery_worker_name}}'),
      /does not keep celery_worker_name/u,
    ],
  ] as const)
    assert.match(broken((panel) => Object.assign(panel, change)).join('\n'), lapse);
});
