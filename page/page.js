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
import { begin, clear, showEvents, showRow } from './row-page.js';
import { find, isKnownId, isUuid, onlyHit } from './search.js';
import { Table } from './table.js';
import {
  BRIDGED,
  documentPathOf,
  EXPORTS,
  exportRows,
  LIMITS,
  limitRows,
  OPEN_RUNS,
  pathOf,
  placeOf,
  QUEUES,
  RUNS,
  SERVICES,
  TASK_RATES,
  taskRows,
  WORKERS,
} from './view.js';

/** @import { StatusDocument, StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */
/** @import { Hit } from './search.js' */
/** @import { RowDocument } from './row-page.js' */

const DETAILS_MS = 2000;
/** Large documents come less often: they take at most a twentieth of the time. */
const DETAILS_SHARE = 20;
const DETAILS_MS_MAX = 10_000;
const REOPEN_MS = 3000;
/** Shown at first: the pages have more below them. */
const RUNS_MIN = 10;

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
 * Of the row or the id that the page is about.
 * @type {RowDocument | undefined}
 */
let row;
/** The path of its document; '' if the page is about none. */
let rowPath = '';
/** Of the last answer for it; 0 before the first. */
let rowCode = 0;
/**
 * Of what is wrong with it, the worst.
 * @type {string | undefined}
 */
let problemSince;
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

/**
 * The oldest first.
 * @param {string} title
 * @param {string} noun
 * @param {typeof OPEN_RUNS} columns
 */
function openTable(title, noun, columns) {
  const sortedBy = columns.findIndex(({ label }) => label === 'For');
  return new Table({ title, noun, columns, sortedBy, rowsMin: RUNS_MIN, changed });
}

/** @param {string} without the column that would say the same in all rows */
function runTable(without) {
  const columns = RUNS.filter(({ label }) => label !== without);
  const sortedBy = columns.findIndex(({ label }) => label === 'Ended');
  const title = without === '' ? 'Runs' : 'Last runs';
  return new Table({ title, noun: 'run', columns, sortedBy, rowsMin: RUNS_MIN, changed });
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
  open: openTable('Not over', 'open run', OPEN_RUNS),
  running: openTable(
    'Running now, by events',
    'running task',
    OPEN_RUNS.filter(({ label }) => label !== 'Worker' && label !== 'State'),
  ),
  taskRuns: runTable('Task'),
  queueRuns: runTable('Queue'),
  workerRuns: runTable('Worker'),
  runs: runTable(''),
  exports: new Table({ title: 'Last exports', noun: 'export', columns: EXPORTS, sortedBy: 0, changed }),
  limits: new Table({ title: 'What is remembered', noun: 'table', columns: LIMITS, sortedBy: 1, changed }),
};
// Which of them the page has is known with the first status.
for (const table of Object.values(tables)) table.element.hidden = true;
const { open, running, ...others } = tables;
byId('open').append(open.element, running.element);
byId('tables').append(...Object.values(others).map((table) => table.element));
begin();

const ROW_TABLES = [
  ...[tables.open, tables.running, tables.taskRuns, tables.queueRuns, tables.workerRuns, tables.runs],
];
/**
 * The kind of page that was shown last.
 * @type {import('./view.js').Place['page'] | undefined}
 */
let shownOn;

/** The page may be of another service, row or id than before. */
function choose() {
  const path = serviceOf(place, status?.services ?? [])?.details ?? '';
  const ofRow = place === undefined || search !== undefined ? '' : documentPathOf(place, path);
  if (path === chosen && ofRow === rowPath && shownOn === place?.page) return;
  if (path !== chosen) {
    chosen = path;
    details = undefined;
    detailsCode = 200;
    // What they show is of another service.
    for (const table of [tables.tasks, tables.queues, tables.workers]) table.clear();
  }
  rowPath = ofRow;
  row = undefined;
  rowCode = 0;
  shownOn = place?.page;
  nextMs = 0;
  clear();
  for (const table of ROW_TABLES) table.clear();
  const links = [
    ['this service', chosen],
    ['this page', rowPath],
  ].flatMap(([text = '', href = '']) => (href === '' ? [] : [', ', element('a', { href }, text)]));
  byId('details').replaceChildren(...links);
  if (details !== undefined) showDetails(details);
}

function show() {
  if (status === undefined) return;
  choose();
  if (!isAway) showHeader(status, search === undefined ? place : undefined);
  const { services } = status;
  const page = search === undefined ? pageOf(place, status, details, row) : foundPage(search);
  problemSince = page.problems?.[0]?.since;
  showTitle(page);
  showProblems(
    page.problems ?? [],
    services.map(({ name }) => name),
  );
  showFound(search?.hits);
  showFacts('facts', page.facts ?? []);
  showFacts('totals', page.totals ?? []);
  for (const [name, table] of Object.entries(tables))
    table.element.hidden = page.tables?.some((each) => each === name) !== true;
  tables.services.update(services);
  tables.bridged.update(services.map((each) => ({ ...each, series: series.get(each.details) })));
  tables.exports.update(exportRows(status));
  tables.limits.update(limitRows(services));
  if (!isAway) showNotice(staleness(serviceOf(place, services) ?? serviceOfRun(services)));
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
        ? `No service, task, queue or worker has this in its name, and no run that is remembered, waits or runs has this id. It was looked for at ${timeOf(status?.time ?? '')}.`
        : `${count} found.`;
  return { title: `Names with “${text}”`, subtitle };
}

/** @param {ServiceDocument} document */
function showDetails(document) {
  const { workers, queues } = document;
  const tasks = taskRows(document, false);
  const isOfService = place?.page === 'service' || place?.page === 'overview';
  if (isOfService && search === undefined) showEvents(document);
  tables.workers.update(workers.rows, workers.total);
  tables.queues.update(queues.rows, queues.total);
  tables.tasks.update(tasks.rows, tasks.total);
}

/** @param {RowDocument} document */
function showDocument(document) {
  showRow(document, problemSince);
  const now = new Date(document.time);
  if ('found' in document) {
    const { found } = document;
    tables.open.update(
      found.flatMap(({ service, open: rows }) => rows.map((each) => ({ ...each, service, now }))),
    );
    tables.runs.update(found.flatMap(({ service, runs }) => runs.map((each) => ({ ...each, service, now }))));
    return;
  }
  const { service, runs } = document;
  const shown = runs.map((each) => ({ ...each, service, now }));
  if ('failures' in document) tables.taskRuns.update(shown);
  else if ('consumers' in document) tables.queueRuns.update(shown);
  else {
    const { total, rows } = document.running;
    tables.running.update(
      rows.map((each) => ({ ...each, service, now })),
      total,
    );
    tables.workerRuns.update(shown);
  }
}

/**
 * The service of the run that the page is about.
 * @param {readonly StatusService[]} services
 */
function serviceOfRun(services) {
  const [found] = row !== undefined && 'found' in row ? row.found : [];
  return services.find(({ name }) => name === found?.service);
}

/**
 * Whether what is about one row or id is not of now, and why.
 * @returns {string}
 */
function rowStaleness() {
  if (rowPath === '' || rowCode === 0 || rowCode === 200) return '';
  const what = place?.page ?? '';
  const since = row === undefined ? '' : ` What is below is from ${timeOf(row.time)}.`;
  return `celery-otel has no details of this ${what} now (${rowCode}).${since}`;
}

/**
 * Whether the tables are not of now, and why.
 * @param {StatusService | undefined} service
 */
function staleness(service) {
  if (service === undefined) return rowStaleness();
  const since = details === undefined ? '' : ` The state below is from ${timeOf(details.time)}.`;
  if (detailsCode !== 200) return `celery-otel has no details of this service now (${detailsCode}).${since}`;
  if (service.as_of === null) return rowStaleness();
  return `The broker has been away since ${timeOf(service.as_of)}. The state below is as of then.`;
}

/**
 * On the page of the bridge, all services take turns.
 * @returns {readonly string[]}
 */
function pathsToAsk() {
  const services = status?.services ?? [];
  if (place?.page !== 'bridge') return [chosen, rowPath].filter((path) => path !== '');
  turn = (turn + 1) % Math.max(1, services.length);
  return [services[turn]?.details ?? ''];
}

async function ask() {
  const beganMs = performance.now();
  if (isAsking || beganMs < nextMs || document.hidden) return;
  const paths = pathsToAsk();
  const before = shownPaths();
  isAsking = true;
  for (const path of paths) if (path !== '') await askFor(path);
  isAsking = false;
  if (paths.length === 0) return;
  const now = performance.now();
  nextMs =
    before === shownPaths()
      ? now + Math.min(DETAILS_MS_MAX, Math.max(DETAILS_MS, DETAILS_SHARE * (now - beganMs)))
      : 0;
}

const shownPaths = () => `${place?.page} ${chosen} ${rowPath}`;

/** @param {string} path */
async function askFor(path) {
  try {
    const response = await fetch(path);
    const answer = response.ok ? await response.json() : undefined;
    if (path === rowPath) takeRow(response.status, answer);
    // The answer may be for a row that the page is not about any more.
    else if (status?.services.some(({ details: own }) => own === path))
      takeDetails(path, response.status, answer);
    show();
  } catch {
    // The stream says that nobody answers.
  }
}

/**
 * @param {number} code
 * @param {RowDocument | undefined} answer
 */
function takeRow(code, answer) {
  rowCode = code;
  if (answer === undefined) return;
  row = answer;
  // Tables are measured once they are seen.
  show();
  showDocument(answer);
}

/**
 * @param {string} path
 * @param {number} code
 * @param {ServiceDocument | undefined} answer
 */
function takeDetails(path, code, answer) {
  if (path === chosen) detailsCode = code;
  if (answer === undefined) return;
  series.set(path, answer.series);
  if (path !== chosen) return;
  details = answer;
  showDetails(answer);
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
  const hits = isUuid(text) ? [] : await find(text, status.services);
  const isId = isUuid(text) || (onlyHit(hits, text) === undefined && (await isKnownId(text)));
  isLooking = false;
  if (search === undefined || search.text !== text) return;
  const found = isId ? /** @type {const} */ ({ page: 'run', id: text }) : onlyHit(hits, text)?.place;
  if (found !== undefined) {
    history.replaceState(null, '', pathOf(found));
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
