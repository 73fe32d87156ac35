/** The rules for a dashboard; each breach is a sentence. Pure: it looks at what was built, and asks no Grafana. */
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { PROMETHEUS_NAMES } from './prometheus-names.ts';
import { parseQuery } from './promql.ts';

const COLUMNS = 24;
const BUILT_IN = new Set(['__rate_interval', '__range']);
/** Functions of a counter’s or histogram’s samples. */
const OF_COUNTERS = ['rate', 'increase'];

/** Without rows. */
export function panelsOf({ panels = [] }: Dashboard): readonly Panel[] {
  return panels.flatMap((panel) => (panel.type === 'row' || !('targets' in panel) ? [] : [panel]));
}

export function lapsesOf(dashboard: Dashboard): readonly string[] {
  const variables = new Set((dashboard.templating?.list ?? []).map(({ name }) => name));
  return [
    ...repeated((dashboard.panels ?? []).map(({ id }) => id)).map((id) => `the id ${id} twice`),
    ...gridLapses(dashboard),
    ...panelsOf(dashboard).flatMap((panel) =>
      [...panelLapses(panel), ...queriesOf(panel).flatMap((query) => queryLapses(query, variables))].map(
        (lapse) => `${panel.title}: ${lapse}`,
      ),
    ),
  ];
}

function panelLapses(panel: Panel): readonly string[] {
  const source = `\${datasource}`;
  return [
    ...(panel.title ? [] : ['it has no title']),
    ...(panel.description ? [] : ['it has no description']),
    ...(panel.fieldConfig?.defaults.unit ? [] : ['it has no unit']),
    ...(panel.datasource?.uid === source ? [] : ['another data source']),
    ...(queriesOf(panel).length > 0 ? [] : ['it asks nothing']),
    ...repeated(queriesOf(panel).map(({ refId }) => refId)).map((id) => `the query ${id} twice`),
  ];
}

interface Query {
  readonly refId: string;
  readonly expr: string;
  readonly legend: string;
}

function queriesOf({ targets = [] }: Panel): readonly Query[] {
  return targets.map((target) => {
    const fields = new Map(Object.entries(target));
    const text = (name: string): string => String(fields.get(name) ?? '');
    return { refId: text('refId'), expr: text('expr'), legend: text('legendFormat') };
  });
}

function queryLapses({ expr, legend }: Query, variables: ReadonlySet<string>): readonly string[] {
  const used = [...expr.matchAll(/\$\{?(\w+)/gu)].map(([, name = '']) => name);
  const ranges = [...expr.matchAll(/\[([^\]]*)\]/gu)].map(([, range = '']) => range);
  const { selectors, kept } = parseQuery(expr);
  const counters = selectors.filter(({ metric, within }) => {
    const instrument = PROMETHEUS_NAMES.get(metric)?.instrument;
    return (instrument === 'counter' || instrument === 'histogram') && !OF_COUNTERS.includes(within ?? '');
  });
  const shown = [...legend.matchAll(/\{\{(\w+)\}\}/gu)].map(([, label = '']) => label);
  return [
    ...used
      .filter((name) => !variables.has(name) && !BUILT_IN.has(name))
      .map((name) => `no variable ${name}`),
    ...ranges
      .filter((range) => !BUILT_IN.has(range.slice(1)))
      .map((range) => `[${range}] is a range of its own`),
    ...counters.map(({ metric }) => `${metric} is a counter, and needs a rate`),
    ...shown
      .filter((label) => kept.length === 0 || !kept.every((labels) => labels.includes(label)))
      .map((label) => `it does not keep ${label}`),
  ];
}

function gridLapses({ panels = [] }: Dashboard): readonly string[] {
  const places = panels.map(({ gridPos, title }) => ({ ...(gridPos ?? { x: 0, y: 0, w: 0, h: 0 }), title }));
  const beside = places.filter(({ x, w }) => w <= 0 || x + w > COLUMNS);
  const overlaps = places.flatMap((one, index) =>
    places
      .slice(index + 1)
      .filter(
        (other) =>
          one.x < other.x + other.w &&
          other.x < one.x + one.w &&
          one.y < other.y + other.h &&
          other.y < one.y + one.h,
      )
      .map((other) => `${one.title} and ${other.title} overlap`),
  );
  return [...beside.map(({ title }) => `${title} is beside the grid`), ...overlaps];
}

function repeated<T>(values: readonly T[]): readonly T[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}
