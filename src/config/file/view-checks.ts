/**
 * Views against the metrics there are: a view that selects none, an aggregation that fits none of them, and two streams
 * under one name are mistakes. Metrics of the SDK are not known here, so what might be about them is let pass.
 */
import { type InstrumentRow, METER_NAME, METRICS, SELF_METRICS } from '../../meter/catalog.ts';
import type { AggregationChoice, InstrumentKind, View, ViewSelector } from '../../otlp/collect/view.ts';
import { wildcard } from '../../otlp/collect/wildcard.ts';
import { VERSION } from '../../version.ts';
import { hint } from '../format/near-miss.ts';
import { showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';

export interface PlacedView {
  readonly place: FileValue;
  readonly view: View;
}

const CATALOG: ReadonlyMap<string, InstrumentRow> = new Map(Object.entries({ ...METRICS, ...SELF_METRICS }));

/** How the instruments of the catalog are made; gauges are asked for their values. */
const KIND: Readonly<Record<InstrumentRow['instrument'], InstrumentKind>> = {
  counter: 'counter',
  histogram: 'histogram',
  gauge: 'observable_gauge',
};

/** What an aggregation is for, beside `default` and `drop`, which are for everything. */
const FITTING: Readonly<Record<InstrumentRow['instrument'], readonly AggregationChoice['kind'][]>> = {
  counter: ['default', 'drop', 'sum'],
  histogram: ['default', 'drop', 'explicit_bucket_histogram', 'base2_exponential_bucket_histogram'],
  gauge: ['default', 'drop', 'last_value'],
};

/** Names that begin so are ours: metrics and attributes alike. */
const OURS = /^celery/i;

/** What the SDK tells of itself: how its metrics, and its meters, begin. */
const SDK_METRIC = 'otel.';
const SDK_METER = '@opentelemetry/';
/** Of these there are none, and if there were, no view would reach them. */
const NO_KINDS: readonly InstrumentKind[] = ['gauge', 'observable_counter', 'observable_up_down_counter'];

/** Takes note of what is wrong with them. */
export function checkViews(views: readonly PlacedView[]): void {
  const selections = views.map((placed) => ({ ...placed, metrics: selectedBy(placed.view.selector) }));
  for (const { place } of selections) {
    const selector = place.get('selector');
    if (selector?.entries().every(([, value]) => value.isNull) === true) {
      selector.complain('at least one criterion, instrument_name for one ("*" for all metrics)');
    }
  }
  // Of a selector that is wrong by itself, nothing more can be said.
  const readable = selections.filter(({ view }) =>
    Object.values(view.selector).some((value) => value !== undefined),
  );
  for (const selection of readable) {
    checkSelector(selection);
    checkAggregation(selection);
    checkAttributeKeys(selection);
    checkName(selection);
    checkDrop(selection);
  }
  checkStreams(
    readable.filter(({ place, view }) => isRead(place.find(['stream', 'name']), view.stream.name)),
  );
}

function isRead(place: FileValue | undefined, value: unknown): boolean {
  return value !== undefined || place === undefined || place.isNull;
}

interface Selection extends PlacedView {
  /** Of the catalog. */
  readonly metrics: readonly string[];
}

function selectedBy({
  instrumentName = '*',
  instrumentKind,
  unit,
  meterName,
  meterVersion,
}: ViewSelector): readonly string[] {
  const isNamed = wildcard(instrumentName, { ignoreCase: true });
  return [...CATALOG]
    .filter(
      ([name, row]) =>
        isNamed(name) &&
        (instrumentKind ?? KIND[row.instrument]) === KIND[row.instrument] &&
        (unit ?? row.unit) === row.unit &&
        (meterName ?? METER_NAME) === METER_NAME &&
        (meterVersion ?? VERSION) === VERSION,
    )
    .map(([name]) => name);
}

/** Whether it may select something that is not in the catalog. */
function mayBeOfSdk({ instrumentName, instrumentKind, meterName }: ViewSelector): boolean {
  const [literal = '', ...patterns] = (instrumentName ?? '*').toLowerCase().split(/[*?]/);
  return (
    (literal.startsWith(SDK_METRIC) || (patterns.length > 0 && SDK_METRIC.startsWith(literal))) &&
    (instrumentKind === undefined || !NO_KINDS.includes(instrumentKind)) &&
    meterName?.startsWith(SDK_METER) !== false
  );
}

function checkSelector({ place, view, metrics }: Selection): void {
  const selector = place.get('selector');
  if (metrics.length > 0 || mayBeOfSdk(view.selector)) return;
  const { instrumentName } = view.selector;
  const [named] = selectedBy({ instrumentName: instrumentName ?? '*' });
  if (named === undefined) {
    const meant = hint((instrumentName ?? '').toLowerCase(), [...CATALOG.keys()]);
    selector?.get('instrument_name')?.complain(`the name of a metric, or a pattern of some${meant}`);
    return;
  }
  const row = instrumentName === undefined ? undefined : CATALOG.get(named);
  const is = row === undefined ? 'each is of' : `${named} is: ${KIND[row.instrument]}, unit ${row.unit},`;
  selector?.complain(
    `criteria that a metric meets, all of them; ${is} meter ${METER_NAME}, version ${VERSION}`,
  );
}

function checkAggregation({ place, view, metrics }: Selection): void {
  const kind = view.stream.aggregation?.kind;
  if (kind === undefined) return;
  for (const name of metrics) {
    const instrument = CATALOG.get(name)?.instrument;
    if (instrument === undefined || FITTING[instrument].includes(kind)) continue;
    const fitting = FITTING[instrument].join(', ');
    place
      .find(['stream', 'aggregation', kind])
      ?.complain(
        `what fits all that is selected; ${name} is a ${instrument}, for which there are ${fitting}`,
      );
    return;
  }
}

function checkAttributeKeys({ place, view, metrics }: Selection): void {
  const known = [...new Set(metrics.flatMap(attributesOf))];
  if (metrics.length === 0) return;
  for (const list of ['included', 'excluded']) {
    for (const item of place.find(['stream', 'attribute_keys', list])?.items() ?? []) {
      const pattern = typeof item.value === 'string' ? item.value.trim() : '';
      const mayBeOther = !OURS.test(pattern) && mayBeOfSdk(view.selector);
      // One that is no text was told of before.
      if (pattern === '' || mayBeOther || known.some(wildcard(pattern))) continue;
      item.complain(`an attribute of what is selected, or a pattern of some${hint(pattern, known)}`);
    }
  }
}

/** What is dropped is no stream of which anything else could be said. */
function checkDrop({ place, view }: Selection): void {
  if (view.stream.aggregation?.kind !== 'drop') return;
  for (const [key, value] of place.get('stream')?.entries() ?? []) {
    if (key !== 'aggregation' && !value.isNull) value.complain('nothing beside the aggregation drop');
  }
}

function attributesOf(name: string): readonly string[] {
  const row = CATALOG.get(name);
  if (row === undefined) return [];
  return [...row.attributes, ...(row.optionalAttributes ?? []), ...(row.optInAttributes ?? [])];
}

function checkName({ place, view, metrics }: Selection): void {
  if (view.stream.name === undefined) return;
  const { instrumentName = '*' } = view.selector;
  if (metrics.length === 1 || (metrics.length === 0 && !/[*?]/.test(instrumentName))) return;
  place
    .find(['stream', 'name'])
    ?.complain(`a selector of one metric, since a name is that of one; this one selects ${metrics.length}`);
}

/** No two streams have one name: what both of them count would be counted twice. */
function checkStreams(selections: readonly Selection[]): void {
  const selected = new Set(selections.flatMap(({ metrics }) => metrics));
  const owners = new Map<string, Selection | undefined>();
  for (const name of CATALOG.keys()) if (!selected.has(name)) owners.set(name.toLowerCase(), undefined);
  for (const selection of selections) {
    const { place, view, metrics } = selection;
    if (view.stream.aggregation?.kind === 'drop') continue;
    const names = view.stream.name === undefined ? metrics : [view.stream.name];
    const taken = names.find((name) => owners.has(name.toLowerCase()));
    if (taken !== undefined) {
      const owner = owners.get(taken.toLowerCase());
      const by = owner === undefined ? 'is that of a metric' : `comes of ${showPath(owner.place.path)} too`;
      const at = place.find(view.stream.name === undefined ? ['selector'] : ['stream', 'name']);
      at?.complain(`streams that differ in their names from all others; ${taken} ${by}`);
    }
    for (const name of names) owners.set(name.toLowerCase(), selection);
  }
}
