/**
 * What the pages of a task, a queue, a worker and a run show of their own documents: plots, lists, failures and the workflow. It puts
 * them into the page, and asks for nothing.
 */
import { byId, element } from './elements.js';
import { Failures } from './failures.js';
import { redraw } from './parts.js';
import { Plot } from './plot.js';
import { treeSection } from './tree.js';
import { moment, number, pathOf } from './view.js';

/** @import { FailureRow, FoundDocument, QueueDocument, QueueWorker, Remembered, RunRow, Share, TaskDocument, WorkerDocument, WorkerExitRow } from '../src/health/details.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */
/** @import { Content, Series } from './plot.js' */
/** @import { Place } from './view.js' */
/** @typedef {TaskDocument | QueueDocument | WorkerDocument | FoundDocument} RowDocument */
/** @typedef {{ readonly text: string, readonly place?: Place, readonly note?: string }} Item */

const HOUR_S = 3600;

const plots = {
  events: new Plot({ title: 'Events per second', kind: 'bars', unit: 'rate' }),
  ended: new Plot({ title: 'Ended per minute', kind: 'bars', unit: 'count' }),
  runtime: new Plot({ title: 'Runtime', kind: 'lines', unit: 'seconds' }),
  waiting: new Plot({ title: 'Messages waiting', kind: 'lines', unit: 'count' }),
  oldest: new Plot({ title: 'How long the oldest has waited', kind: 'lines', unit: 'seconds' }),
  wait: new Plot({ title: 'How long tasks waited', kind: 'lines', unit: 'seconds' }),
  started: new Plot({ title: 'Started per minute', kind: 'bars', unit: 'count' }),
};
const failures = new Failures();

/** Puts its parts into the page. */
export function begin() {
  byId('plots').append(...Object.values(plots).map((plot) => plot.element));
  byId('failures').append(failures.element);
}

/** Of a page that shows something else now. */
export function clear() {
  for (const plot of Object.values(plots)) plot.update(undefined);
  failures.update('', [], new Date(0));
  for (const id of ['tree', 'lists']) redraw(byId(id), [], listSection);
  byId('remembered').textContent = '';
}

/** @param {Pick<ServiceDocument, 'time' | 'events'>} document */
export function showEvents({ time, events: { step_s, counts } }) {
  const rates = counts.map((count) => count / step_s);
  const unknown = Array.from({ length: Math.max(0, HOUR_S / step_s - rates.length) }, () => null);
  const values = [...unknown, ...rates];
  const sinceMs = Date.parse(time) - values.length * step_s * 1000;
  plots.events.update({ sinceMs, stepS: step_s, series: [{ name: 'events', look: 'usual', values }] });
}

/**
 * @param {RowDocument} document
 * @param {string | undefined} since when the problem of the page began, if it has one
 */
export function showRow(document, since) {
  const markMs = since === undefined ? undefined : Date.parse(since);
  if ('found' in document) showFoundTask(document);
  else {
    if ('failures' in document) showTask(document, markMs);
    else if ('consumers' in document) showQueue(document, markMs);
    else showWorker(document);
    showRemembered(document.remembered, 'this service');
  }
}

/**
 * @param {TaskDocument} document
 * @param {number | undefined} markMs
 */
function showTask({ hour, service, failures: failed, queues, workers, time }, markMs) {
  plots.ended.update(
    contentOf(hour, markMs, ({ failed: failures, lost, retried, succeeded }) => [
      { name: 'failed', look: 'failed', values: failures },
      ...(lost.some((count) => count !== null && count > 0)
        ? [/** @type {Series} */ ({ name: 'lost', look: 'lost', values: lost })]
        : []),
      { name: 'retried', look: 'other', values: retried },
      { name: 'succeeded', look: 'usual', values: succeeded },
    ]),
  );
  plots.runtime.update(
    contentOf(hour, markMs, ({ runtime_p50_s, runtime_p95_s }) => quantiles(runtime_p50_s, runtime_p95_s)),
  );
  failures.update(
    'Last failures',
    failed.map((each) => ({ ...each, service })),
    new Date(time),
  );
  showLists([
    {
      title: 'Workers it ran on',
      none: 'None that is remembered.',
      items: shares(workers, 'worker', service),
    },
    {
      title: 'Queues it came from',
      none: 'None that is remembered.',
      items: shares(queues, 'queue', service),
    },
  ]);
}

/**
 * @param {QueueDocument} document
 * @param {number | undefined} markMs
 */
function showQueue({ hour, service, consumers, workers, time }, markMs) {
  plots.waiting.update(
    contentOf(hour, markMs, ({ waiting }) => [{ name: 'waiting', look: 'usual', values: waiting }]),
  );
  plots.oldest.update(
    contentOf(hour, markMs, ({ oldest_age_s }) => [{ name: 'oldest', look: 'usual', values: oldest_age_s }]),
  );
  plots.wait.update(
    contentOf(hour, markMs, ({ wait_p50_s, wait_p95_s }) => quantiles(wait_p50_s, wait_p95_s)),
  );
  plots.started.update(
    contentOf(hour, markMs, ({ started }) => [{ name: 'started', look: 'usual', values: started }]),
  );
  showLists([
    {
      title: 'Who consumes it',
      none:
        consumers === null ? 'Not known: workers are not asked.' : 'No worker reports that it consumes it.',
      items: (consumers ?? []).map((name) => ({ text: name, place: { page: 'worker', service, name } })),
    },
    {
      title: 'Who ran its last tasks',
      none: 'No run that is remembered came from it.',
      items: shares(workers, 'worker', service).map((item, index) => ({
        ...item,
        note: [item.note, exitOf(workers[index], consumers, new Date(time))].filter(Boolean).join(', '),
      })),
    },
  ]);
}

/**
 * How a worker ended that consumes the queue no longer; empty if it does, or if that is not known.
 * @param {QueueWorker | undefined} worker
 * @param {readonly string[] | null} consumers
 * @param {Date} now
 */
function exitOf(worker, consumers, now) {
  if (consumers === null || !worker?.exit || consumers.includes(worker.name)) return '';
  return `${EXITS[worker.exit.reason]} at ${moment(worker.exit.at, now)}`;
}

/** @param {WorkerDocument} document */
function showWorker({ service, queues, exits, time }) {
  showLists([
    {
      title: 'Queues it consumes',
      none: queues === null ? 'Not known: it is not up, or has not reported them.' : 'None.',
      items: (queues ?? []).map((name) => ({ text: name, place: { page: 'queue', service, name } })),
    },
    {
      title: 'Exits',
      none: 'None that celery-otel has seen.',
      items: exits.map(({ at, reason }) => ({ text: EXITS[reason], note: moment(at, new Date(time)) })),
    },
  ]);
}

/** @type {Readonly<Record<WorkerExitRow['reason'], string>>} */
const EXITS = {
  goodbye: 'said goodbye',
  silence: 'fell silent',
  replaced: 'was replaced by another process of its name',
  restarted: 'was started again',
};

/** @param {FoundDocument} document */
function showFoundTask({ id, found, remembered, time }) {
  const now = new Date(time);
  failures.update(
    'How it failed',
    found.flatMap(({ service, failures: failed }) => failed.map((each) => ({ ...each, service }))),
    now,
  );
  showLists(found.flatMap(({ service, runs, failures: kept }) => unkept(service, runs, kept)));
  const trees = found
    .filter(({ tree }) => tree.length > 0)
    .map(({ service, tree, tree_total }) => ({ service, id, rows: tree, total: tree_total }));
  redraw(byId('tree'), trees, treeSection);
  if (found.length > 0) showRemembered(remembered, 'all services');
}

/**
 * Where there are newer failures, if the texts of this one are not kept.
 * @param {string} service
 * @param {readonly RunRow[]} runs
 * @param {readonly FailureRow[]} kept
 */
function unkept(service, runs, kept) {
  const failed = runs.find(({ outcome }) => outcome === 'failed' || outcome === 'retried');
  if (failed === undefined || kept.length > 0) return [];
  /** @type {Item} */
  const item = {
    ...{ text: failed.task, place: { page: 'task', service, name: failed.task } },
    note: 'has its last failures with their stack traces, which are the only ones that are kept',
  };
  return [{ title: 'How it failed', none: '', items: [item] }];
}

/**
 * @param {Remembered} remembered
 * @param {string} of
 */
function showRemembered({ runs, limit }, of) {
  if (limit === 0) {
    byId('remembered').textContent =
      'Runs that are over are not remembered (status_runs is 0). Tasks that wait or run are known.';
    return;
  }
  const soFar = runs < limit ? `, which are ${number(runs)} so far` : '';
  byId('remembered').textContent =
    `The last ${number(limit)} runs of ${of} are remembered${soFar}. Tasks that wait or run are known, too.`;
}

/**
 * @template {{ readonly since: string, readonly step_s: number }} Hour
 * @param {Hour | null} hour
 * @param {number | undefined} markMs
 * @param {(hour: Hour) => readonly Series[]} seriesOf
 * @returns {Content | undefined}
 */
function contentOf(hour, markMs, seriesOf) {
  if (hour === null) return undefined;
  const series = seriesOf(hour);
  // The whole hour, also before celery-otel was there.
  const before = Math.max(0, HOUR_S / hour.step_s - (series[0]?.values.length ?? 0));
  return {
    ...{ sinceMs: Date.parse(hour.since) - before * hour.step_s * 1000, stepS: hour.step_s, markMs },
    series: series.map((each) => ({
      ...each,
      values: [...Array.from({ length: before }, () => null), ...each.values],
    })),
  };
}

/**
 * @param {readonly (number | null)[]} p50
 * @param {readonly (number | null)[]} p95
 * @returns {readonly Series[]}
 */
function quantiles(p50, p95) {
  return [
    { name: 'p50', look: 'usual', values: p50 },
    { name: 'p95', look: 'other', values: p95 },
  ];
}

/**
 * @param {readonly Share[]} rows
 * @param {'worker' | 'queue'} page
 * @param {string} service
 * @returns {readonly Item[]}
 */
function shares(rows, page, service) {
  return rows.map(({ name, runs }) => ({
    ...(name === '' ? { text: 'not known' } : { text: name, place: { page, service, name } }),
    note: `${number(runs)} run${runs === 1 ? '' : 's'}`,
  }));
}

/** @param {readonly { readonly title: string, readonly none: string, readonly items: readonly Item[] }[]} lists */
function showLists(lists) {
  redraw(byId('lists'), lists, listSection);
}

/** @param {{ readonly title: string, readonly none: string, readonly items: readonly Item[] }} list */
function listSection({ title, none, items }) {
  const entries = items.map(({ text, place, note = '' }) =>
    element(
      'li',
      { class: 'entry hit words' },
      place === undefined ? text : element('a', { href: pathOf(place) }, text),
      ' ',
      element('small', {}, note),
    ),
  );
  const empty = element('li', { class: 'entry hit' }, none);
  return element(
    'section',
    { 'aria-label': title },
    element('div', { class: 'tools' }, element('h2', {}, title)),
    element('ul', { class: 'panel' }, ...(entries.length === 0 ? [empty] : entries)),
  );
}
