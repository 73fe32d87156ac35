/**
 * Checks views against the catalog of metrics: reports a view that selects no metric, an unsuitable aggregation, and
 * two streams with the same name. It accepts a view that may select metrics of the SDK, which are not in the catalog.
 */
import { type InstrumentRow, METER_NAME, METRICS, SELF_METRICS } from '../../meter/catalog.ts';
import { selects } from '../../otlp/collect/selection.ts';
import type { AggregationChoice, InstrumentKind, View, ViewSelector } from '../../otlp/collect/view.ts';
import { VERSION } from '../../self/version.ts';
import { hint } from '../../text/suggestion.ts';
import { wildcard } from '../../text/wildcard.ts';
import { showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import type { Placed } from './shape.ts';

type Metric = readonly [name: string, row: InstrumentRow];

const CATALOG: readonly Metric[] = Object.entries({ ...METRICS, ...SELF_METRICS });
const NAMES = CATALOG.map(([name]) => name);

type Suited = Readonly<{ kind: InstrumentKind; aggregations: readonly AggregationChoice['kind'][] }>;

/** The kind of each instrument in the catalog, and the aggregations that suit it. */
const SUITED: Readonly<Record<InstrumentRow['instrument'], Suited>> = {
  counter: { kind: 'counter', aggregations: ['default', 'drop', 'sum'] },
  histogram: {
    kind: 'histogram',
    aggregations: ['default', 'drop', 'explicit_bucket_histogram', 'base2_exponential_bucket_histogram'],
  },
  gauge: { kind: 'observable_gauge', aggregations: ['default', 'drop', 'last_value'] },
};

/** The prefix of celery-otel’s metrics and attributes. */
const OURS = /^celery/i;

/** The prefixes of the SDK's metrics and meters. */
const SDK_METRIC = 'otel.';
const SDK_METER = '@opentelemetry/';
/** No metric of the SDK is of these kinds. */
const NO_KINDS: readonly InstrumentKind[] = ['gauge', 'observable_counter', 'observable_up_down_counter'];

/** Reports all mistakes. */
export function checkViews(views: readonly Placed<View>[]): void {
  // Nothing more can be checked if the selector itself is wrong.
  const selections = views
    .filter(({ value: { selector } }) => Object.values(selector).some((value) => value !== undefined))
    .map(({ place, value: view }) => ({ place, view, metrics: selectedBy(view.selector) }));
  for (const selection of selections) {
    checkSelector(selection);
    checkAggregation(selection);
    checkAttributeKeys(selection);
    checkName(selection);
    checkDrop(selection);
  }
  // A name that could not be read was reported before.
  const isNamed = ({ place, view }: Selection): boolean =>
    view.stream.name !== undefined || place.find(['stream', 'name'])?.isNull !== false;
  checkStreams(selections.filter(isNamed));
}

interface Selection {
  readonly place: FileValue;
  readonly view: View;
  /** The selected metrics of the catalog. */
  readonly metrics: readonly Metric[];
}

function selectedBy(selector: ViewSelector): readonly Metric[] {
  const meter = { meterName: METER_NAME, meterVersion: VERSION, meterSchemaUrl: '' };
  return CATALOG.filter(([name, { instrument, unit }]) =>
    selects(selector, { ...meter, instrumentName: name, instrumentKind: SUITED[instrument].kind, unit }),
  );
}

/** Whether a selector may select metrics of the SDK, which are not in the catalog. */
function mayBeOfSdk({ instrumentName, instrumentKind, meterName }: ViewSelector): boolean {
  const [literal = '', ...patterns] = (instrumentName ?? '*').toLowerCase().split(/[*?]/);
  return (
    (literal.startsWith(SDK_METRIC) || (patterns.length > 0 && SDK_METRIC.startsWith(literal))) &&
    (instrumentKind === undefined || !NO_KINDS.includes(instrumentKind)) &&
    meterName?.startsWith(SDK_METER) !== false
  );
}

function checkSelector({ place, view, metrics }: Selection): void {
  if (metrics.length > 0 || mayBeOfSdk(view.selector)) return;
  const selector = place.get('selector');
  const { instrumentName } = view.selector;
  const [named] = selectedBy({ instrumentName: instrumentName ?? '*' });
  if (named === undefined) {
    const meant = hint((instrumentName ?? '').toLowerCase(), NAMES);
    selector?.get('instrument_name')?.complain(`a metric name, or a pattern that matches one${meant}`);
    return;
  }
  const [name, { instrument, unit }] = named;
  const is =
    instrumentName === undefined
      ? 'all have'
      : `${name} has instrument_type ${SUITED[instrument].kind}, unit ${unit},`;
  selector?.complain(`criteria that all match one metric; ${is} meter ${METER_NAME}, version ${VERSION}`);
}

function checkAggregation({ place, view, metrics }: Selection): void {
  const kind = view.stream.aggregation?.kind;
  if (kind === undefined) return;
  const unsuited = metrics.find(([, row]) => !SUITED[row.instrument].aggregations.includes(kind));
  if (unsuited === undefined) return;
  const [name, { instrument }] = unsuited;
  const allowed = SUITED[instrument].aggregations.join(', ');
  place
    .find(['stream', 'aggregation', kind])
    ?.complain(
      `an aggregation that suits all selected metrics; ${name} is a ${instrument}, which allows ${allowed}`,
    );
}

function checkAttributeKeys({ place, view, metrics }: Selection): void {
  const known = [...new Set(metrics.flatMap(attributesOf))];
  if (metrics.length === 0) return;
  for (const list of ['included', 'excluded']) {
    for (const item of place.find(['stream', 'attribute_keys', list])?.items() ?? []) {
      const pattern = typeof item.value === 'string' ? item.value.trim() : '';
      const mayBeOther = !OURS.test(pattern) && mayBeOfSdk(view.selector);
      // An item that is not a string was reported before.
      if (pattern === '' || mayBeOther || known.some(wildcard(pattern))) continue;
      item.complain(
        `an attribute of the selected metrics, or a pattern that matches one${hint(pattern, known)}`,
      );
    }
  }
}

function attributesOf([, row]: Metric): readonly string[] {
  return [...row.attributes, ...(row.optionalAttributes ?? []), ...(row.optInAttributes ?? [])];
}

/** Reports other settings of a dropped stream. */
function checkDrop({ place, view }: Selection): void {
  if (view.stream.aggregation?.kind !== 'drop') return;
  for (const [key, value] of place.get('stream')?.entries() ?? []) {
    if (key !== 'aggregation' && !value.isNull) value.complain('no other setting with the aggregation drop');
  }
}

function checkName({ place, view, metrics }: Selection): void {
  if (view.stream.name === undefined) return;
  const { instrumentName = '*' } = view.selector;
  if (metrics.length === 1 || (metrics.length === 0 && !/[*?]/.test(instrumentName))) return;
  place
    .find(['stream', 'name'])
    ?.complain(
      `a selector that matches one metric, because names must be unique; this one matches ${metrics.length}`,
    );
}

/** Reports streams with the same name, which a backend would count twice. */
function checkStreams(selections: readonly Selection[]): void {
  const selected = new Set(selections.flatMap(({ metrics }) => metrics));
  /** By lower-case name of each stream: the view that it comes from; undefined if it comes from no view. */
  const owners = new Map<string, Selection | undefined>();
  for (const metric of CATALOG) if (!selected.has(metric)) owners.set(metric[0].toLowerCase(), undefined);
  for (const selection of selections) {
    const { place, view, metrics } = selection;
    if (view.stream.aggregation?.kind === 'drop') continue;
    const names = view.stream.name === undefined ? metrics.map(([name]) => name) : [view.stream.name];
    const taken = names.find((name) => owners.has(name.toLowerCase()));
    if (taken !== undefined) {
      const owner = owners.get(taken.toLowerCase());
      const by = owner === undefined ? 'is a metric' : `also comes from ${showPath(owner.place.path)}`;
      const at = place.find(view.stream.name === undefined ? ['selector'] : ['stream', 'name']);
      at?.complain(`unique stream names; ${taken} ${by}`);
    }
    for (const name of names) owners.set(name.toLowerCase(), selection);
  }
}
