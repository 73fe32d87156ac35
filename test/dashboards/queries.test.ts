/** All queries of dashboards, rules and docs/queries.md are PromQL, and ask for metrics, labels and values that exist. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DASHBOARDS } from '../../dashboards/source/dashboards.ts';
import { questions } from './documented-queries.ts';
import { LABEL_VALUES, PROMETHEUS_NAMES } from './prometheus-names.ts';
import { type Matcher, parseQuery, type Selector } from './promql.ts';
import { RULE_FILES, rulesOf } from './rule-files.ts';

/** Of other origin than the catalog, with the labels that are used. */
const OTHERS = new Map([
  // The Collector’s, with the attributes of resources.
  ['target_info', ['job', 'service_version']],
]);

const rules = RULE_FILES.flatMap(rulesOf);
const documented = questions().flatMap(({ title, queries }) =>
  queries.map((expr) => ({ name: title, expr })),
);
const shown = [
  ...rules.map(({ expr, alert, record }) => ({ name: alert ?? record ?? '', expr })),
  ...Object.values(DASHBOARDS).flatMap(({ title, groups }) =>
    groups.flatMap(({ panels }) =>
      panels.flatMap((panel) =>
        panel.queries.map(({ expr }) => ({ name: `${title}, ${panel.title}`, expr })),
      ),
    ),
  ),
];
const queries = [...shown, ...documented];
/** A recorded series may have all labels. */
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
const everyLabel = new Set([...PROMETHEUS_NAMES.values()].flatMap(({ labels }) => [...labels]));

function labelsOf(metric: string): ReadonlySet<string> | undefined {
  if (recorded.has(metric)) return everyLabel;
  const other = OTHERS.get(metric);
  return other === undefined ? PROMETHEUS_NAMES.get(metric)?.labels : new Set(other);
}

function valuesWrongIn({ label, operator, value }: Matcher): readonly string[] {
  const known = LABEL_VALUES.get(label);
  if (known === undefined || value === '' || value === '.*') return [];
  const values = operator.includes('~') ? value.split('|') : [value];
  return values.filter((one) => !known.includes(one)).map((one) => `${label} is never ${one}`);
}

function wrongIn({ metric, matchers }: Selector): readonly string[] {
  const labels = labelsOf(metric);
  if (labels === undefined) return [`there is no metric ${metric}`];
  return matchers.flatMap((matcher) =>
    labels.has(matcher.label) ? valuesWrongIn(matcher) : [`${metric} has no label ${matcher.label}`],
  );
}

/** An aggregation of one metric keeps only labels that it has. */
function strangersIn(expr: string): readonly string[] {
  const { selectors, named } = parseQuery(expr);
  const labels = new Set(selectors.flatMap(({ metric }) => [...(labelsOf(metric) ?? [])]));
  return [...new Set(named)].filter((label) => !labels.has(label)).map((label) => `nothing has ${label}`);
}

test('every query asks for metrics, labels and values of the catalog', () => {
  const wrong = queries.flatMap(({ name, expr }) =>
    [...parseQuery(expr).selectors.flatMap(wrongIn), ...strangersIn(expr)].map((each) => `${name}: ${each}`),
  );
  assert.deepEqual(wrong, []);
  assert.ok(queries.length > 100);
});

/** What no dashboard shows, and why. */
const NOT_SHOWN: Readonly<Record<string, string>> = {
  celery_queue_unacked: 'off by default',
  celery_worker_load: 'off by default',
  celery_worker_pool_writes: 'off by default',
  celery_worker_tasks_processed_total: 'celery_task_started_total says the same, and by task',
};

test('the dashboards show every metric of the catalog, but those that are named here', () => {
  const asked = shown.flatMap(({ expr }) => parseQuery(expr).selectors.map(({ metric }) => metric));
  const base = (name: string): string => name.replace(/_(?:bucket|sum|count)$/u, '');
  const seen = new Set(asked.map(base));
  const hidden = new Set([...PROMETHEUS_NAMES.keys()].map(base).filter((name) => !seen.has(name)));
  assert.deepEqual([...hidden].sort(), Object.keys(NOT_SHOWN).sort());
});

test('a wrong name, label, value or syntax would be found', () => {
  for (const [expr, found] of [
    ['rate(celery_task_fail_total[1m])', 'there is no metric celery_task_fail_total'],
    ['celery_worker_up{worker="w"}', 'celery_worker_up has no label worker'],
    ['celery_task_oldest_age_seconds{celery_task_state="idle"}', 'celery_task_state is never idle'],
    ['sum by (celery_task) (celery_worker_up)', 'nothing has celery_task'],
  ] as const)
    assert.deepEqual([...parseQuery(expr).selectors.flatMap(wrongIn), ...strangersIn(expr)], [found]);
  assert.throws(() => parseQuery('rate(celery_worker_up[)'), /not PromQL/u);
});
