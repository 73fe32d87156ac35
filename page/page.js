/**
 * The status pages: takes what celery-otel sends once a second, asks for the rest of one service, and shows the page that the address
 * stands for.
 */
import { byId, element } from './elements.js';
import { pageOf, serviceOf } from './pages.js';
import {
  showFacts,
  showFound,
  showHeader,
  showNotice,
  showProblems,
  showTitle,
  showVerdict,
  timeOf,
} from './parts.js';
import { showPlot } from './plot.js';
import { find, onlyHit } from './search.js';
import { Table } from './table.js';
import {
  BRIDGED,
  EXPORTS,
  exportRows,
  LIMITS,
  limitRows,
  pathOf,
  placeOf,
  QUEUES,
  SERVICES,
  TASK_RATES,
  taskRows,
  WORKERS,
} from './view.js';

/** @import { StatusDocument, StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */
/** @import { Hit } from './search.js' */

const DETAILS_MS = 2000;
/** Large documents come less often: they take at most a twentieth of the time. */
const DETAILS_SHARE = 20;
const REOPEN_MS = 3000;

/** @type {StatusDocument | undefined} */
let status;
let isAway = false;
/**
 * Undefined if no page has this address.
 * @type {ReturnType<typeof placeOf>}
 */
let place;
/**
 * Of the service that the page is about.
 * @type {ServiceDocument | undefined}
 */
let details;
/** The path of its details; '' if the page is about none. */
let chosen = '';
/** Of the last answer for it. */
let detailsCode = 200;
/**
 * By the paths of details.
 * @type {Map<string, ServiceDocument['series']>}
 */
const series = new Map();
let turn = 0;
let nextMs = 0;
let isAsking = false;
/**
 * What is looked for, and what was found so far.
 * @type {{ readonly text: string, readonly hits?: readonly Hit[] } | undefined}
 */
let search;

/**
 * @param {'task' | 'queue' | 'worker'} page
 * @returns {(row: { readonly name: string }) => string | undefined} undefined for rows that are no one thing
 */
function hrefIn(page) {
  return ({ name }) => {
    const service = serviceOf(place, status?.services ?? [])?.name;
    return name === '' || service === undefined ? undefined : pathOf({ page, service, name });
  };
}

/** @param {{ readonly name: string }} service */
const serviceHref = ({ name }) => pathOf({ page: 'service', service: name });

/** So that a link shows what its sender saw. */
function changed() {
  const url = new URL(location.href);
  for (const table of Object.values(tables)) if (!table.element.hidden) table.store(url.searchParams);
  history.replaceState(null, '', url);
}

const tables = {
  services: new Table({
    ...{ title: 'Services', noun: 'service', columns: SERVICES, sortedBy: 1, changed, href: serviceHref },
  }),
  tasks: new Table({
    ...{ title: 'Tasks', noun: 'task', columns: TASK_RATES, sortedBy: 1, changed, href: hrefIn('task') },
  }),
  queues: new Table({
    ...{ title: 'Queues', noun: 'queue', columns: QUEUES, sortedBy: 1, changed, href: hrefIn('queue') },
  }),
  workers: new Table({
    ...{ title: 'Workers', noun: 'worker', columns: WORKERS, sortedBy: 0, changed, href: hrefIn('worker') },
  }),
  bridged: new Table({
    ...{ title: 'Events and series', noun: 'service', columns: BRIDGED, sortedBy: 0 },
    ...{ changed, href: serviceHref },
  }),
  exports: new Table({ title: 'Last exports', noun: 'export', columns: EXPORTS, sortedBy: 0, changed }),
  limits: new Table({ title: 'What is remembered', noun: 'table', columns: LIMITS, sortedBy: 1, changed }),
};
byId('content').append(...Object.values(tables).map((table) => table.element));

/** The page may be of another service than before. */
function choose() {
  const path = serviceOf(place, status?.services ?? [])?.details ?? '';
  if (path === chosen) return;
  chosen = path;
  details = undefined;
  nextMs = 0;
  detailsCode = 200;
  // What they show is of another service.
  for (const table of [tables.tasks, tables.queues, tables.workers]) table.clear();
  byId('plot').replaceChildren();
  byId('details').replaceChildren(
    ...(path === '' ? [] : [', ', element('a', { href: path }, 'this service')]),
  );
}

function show() {
  if (status === undefined) return;
  choose();
  if (!isAway) showHeader(status, search === undefined ? place : undefined);
  const { services } = status;
  const page = search === undefined ? pageOf(place, status, details) : foundPage(search);
  showTitle(page);
  showProblems(
    page.problems ?? [],
    services.map(({ name }) => name),
  );
  showFound(search?.hits);
  showFacts('facts', page.facts ?? []);
  showFacts('totals', page.totals ?? []);
  byId('plot').hidden = page.hasPlot !== true;
  for (const [name, table] of Object.entries(tables))
    table.element.hidden = page.tables?.some((each) => each === name) !== true;
  tables.services.update(services);
  tables.bridged.update(services.map((each) => ({ ...each, series: series.get(each.details) })));
  tables.exports.update(exportRows(status));
  tables.limits.update(limitRows(services));
  if (!isAway) showNotice(staleness(serviceOf(place, services)));
}

/**
 * @param {{ readonly text: string, readonly hits?: readonly Hit[] }} search
 * @returns {import('./pages.js').Page}
 */
function foundPage({ text, hits }) {
  const count = hits?.length ?? 0;
  const subtitle =
    hits === undefined
      ? 'Looking …'
      : count === 0
        ? `No service, task, queue or worker has this in its name. It was looked for at ${timeOf(status?.time ?? '')}.`
        : `${count} found.`;
  return { title: `Names with “${text}”`, subtitle };
}

/** @param {ServiceDocument} document */
function showDetails(document) {
  const { events, workers, queues } = document;
  const tasks = taskRows(document, false);
  showPlot(events);
  tables.workers.update(workers.rows, workers.total);
  tables.queues.update(queues.rows, queues.total);
  tables.tasks.update(tasks.rows, tasks.total);
}

/**
 * Whether the tables are not of now, and why.
 * @param {StatusService | undefined} service
 */
function staleness(service) {
  if (service === undefined) return '';
  const since = details === undefined ? '' : ` The state below is from ${timeOf(details.time)}.`;
  if (detailsCode !== 200) return `celery-otel has no details of this service now (${detailsCode}).${since}`;
  if (service.as_of === null) return '';
  return `The broker has been away since ${timeOf(service.as_of)}. The state below is as of then.`;
}

/** On the page of the bridge, all services take turns. */
function pathToAsk() {
  const services = status?.services ?? [];
  if (place?.page !== 'bridge') return chosen;
  turn = (turn + 1) % Math.max(1, services.length);
  return services[turn]?.details ?? '';
}

async function ask() {
  const beganMs = performance.now();
  if (isAsking || beganMs < nextMs || document.hidden) return;
  const path = pathToAsk();
  if (path === '') return;
  isAsking = true;
  try {
    const response = await fetch(path);
    /** @type {ServiceDocument | undefined} */
    const answer = response.ok ? await response.json() : undefined;
    if (path === chosen) detailsCode = response.status;
    if (answer !== undefined) series.set(path, answer.series);
    if (answer !== undefined && path === chosen) {
      details = answer;
      showDetails(answer);
    }
    show();
  } catch {
    // The stream says that nobody answers.
  } finally {
    isAsking = false;
    const now = performance.now();
    const isSame = path === chosen || place?.page === 'bridge';
    nextMs = isSame ? now + Math.max(DETAILS_MS, DETAILS_SHARE * (now - beganMs)) : 0;
  }
}

/** @param {string} text */
function take(text) {
  status = JSON.parse(text);
  isAway = false;
  show();
  if (search !== undefined && search.hits === undefined) void look();
  void ask();
}

let isLooking = false;

/** Goes to what was found if it is one thing, and lists it otherwise. */
async function look() {
  if (isLooking || status === undefined || search === undefined) return;
  isLooking = true;
  const { text } = search;
  const hits = await find(text, status.services);
  isLooking = false;
  if (search === undefined || search.text !== text) return;
  const hit = onlyHit(hits, text);
  if (hit !== undefined) {
    history.replaceState(null, '', pathOf(hit.place));
    arrive();
  } else {
    search = { text, hits };
    show();
  }
}

/** Reads the address. */
function read() {
  place = placeOf(location.pathname);
  const query = new URLSearchParams(location.search);
  for (const table of Object.values(tables)) table.restore(query);
  const text = query.get('find')?.trim() ?? '';
  search = place?.page === 'overview' && text !== '' ? { text } : undefined;
}

/** The address has changed. */
function arrive() {
  read();
  show();
  byId('title').focus({ preventScroll: true });
  if (search !== undefined) void look();
  void ask();
}

/** @param {string} address */
function go(address) {
  history.pushState(null, '', address);
  arrive();
  scrollTo(0, 0);
}

/** @param {MouseEvent} event */
function follow(event) {
  const { target, button, ctrlKey, metaKey, shiftKey, altKey } = event;
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return;
  const link = target instanceof Element ? target.closest('a') : null;
  const isPage = link?.origin === location.origin && placeOf(link.pathname) !== undefined;
  if (link === null || !isPage || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
}

function away() {
  isAway = true;
  showVerdict('down', 'Not reachable', '');
  const since = status === undefined ? '' : ` The state below is from ${timeOf(status.time)}.`;
  showNotice(`celery-otel does not answer: it has stopped, or cannot be reached from here.${since}`);
}

/** @type {EventSource | undefined} */
let events;

/** Browsers have few connections to one host: a page that nobody sees lets its one go. */
function openOrClose() {
  if (document.hidden) {
    events?.close();
    events = undefined;
  } else if (events === undefined || events.readyState === EventSource.CLOSED) {
    events = new EventSource('/events');
    events.addEventListener('message', ({ data }) => take(data));
    events.addEventListener('error', () => {
      away();
      setTimeout(openOrClose, REOPEN_MS);
    });
  }
}

const input = byId('search').querySelector('input');
byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = input?.value.trim() ?? '';
  if (text !== '') go(`/?find=${encodeURIComponent(text.toWellFormed())}`);
});
document.addEventListener('click', follow);
window.addEventListener('popstate', () => {
  // A link into the page is none to another one.
  if (location.hash === '') arrive();
});
document.addEventListener('visibilitychange', openOrClose);
read();
openOrClose();
