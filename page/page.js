/** The status page: takes what celery-otel sends once a second, asks for the rest of one service, and shows both. */
import { byId, setText } from './elements.js';
import { showFacts, showStatus, showVerdict } from './overview.js';
import { showPlot } from './plot.js';
import { Table } from './table.js';
import { EXPORTS, exportRows, QUEUES, SERVICES, TASK_RATES, taskRows, WORKERS } from './view.js';

/** @import { StatusDocument, StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */

const DETAILS_MS = 2000;
/** Large documents come less often: they take at most a twentieth of the time. */
const DETAILS_SHARE = 20;
const REOPEN_MS = 3000;

const tables = {
  services: new Table({
    ...{ title: 'All services', noun: 'service', columns: SERVICES, sortedBy: 0 },
    choose: (service) => choose(service.details),
  }),
  queues: new Table({ title: 'Queues', noun: 'queue', columns: QUEUES, sortedBy: 1 }),
  workers: new Table({ title: 'Workers', noun: 'worker', columns: WORKERS, sortedBy: 0 }),
  tasks: new Table({ title: 'Tasks', noun: 'task', columns: TASK_RATES, sortedBy: 1 }),
  exports: new Table({ title: 'Last exports', noun: 'export', columns: EXPORTS, sortedBy: 0 }),
};
byId('services').append(tables.services.element);
byId('service').append(tables.tasks.element, tables.queues.element, tables.workers.element);
byId('exports').append(tables.exports.element);

/** @type {StatusDocument | undefined} */
let status;
/** @type {ServiceDocument | undefined} */
let details;
let chosen = '/services/0.json';
let nextMs = 0;
/** Of the last answer for the chosen service. */
let detailsCode = 200;
let isAsking = false;

/** @param {string} path of the details of a service */
function choose(path) {
  chosen = path;
  details = undefined;
  nextMs = 0;
  // What they show is of another service.
  for (const table of [tables.tasks, tables.queues, tables.workers]) table.clear();
  byId('plot').replaceChildren();
  detailsCode = 200;
  byId('details').setAttribute('href', path);
  show();
  byId('service-name').focus();
  void ask();
}

function show() {
  if (status === undefined) return;
  showStatus(status);
  const { services } = status;
  const isOne = services.length < 2;
  byId('services').hidden = isOne;
  if (!isOne) tables.services.update(services);
  const service = services.find((each) => each.details === chosen) ?? services[0];
  byId('service').hidden = service === undefined;
  if (service !== undefined) {
    showFacts(service, details);
    showStale(service);
  }
  byId('exports').hidden = false;
  tables.exports.update(exportRows(status));
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
 * Reports that the tables are not of now.
 * @param {StatusService} service
 */
function showStale({ as_of }) {
  const time = (/** @type {string} */ iso) => new Date(iso).toLocaleTimeString();
  const since = details === undefined ? '' : ` The state below is from ${time(details.time)}.`;
  const text =
    detailsCode !== 200
      ? `celery-otel has no details of this service now (${detailsCode}).${since}`
      : as_of === null
        ? ''
        : `The broker has been away since ${time(as_of)}. The state below is as of then.`;
  byId('stale').hidden = text === '';
  setText(byId('stale'), text);
}

async function ask() {
  const beganMs = performance.now();
  if (isAsking || beganMs < nextMs || document.hidden) return;
  isAsking = true;
  const path = chosen;
  try {
    const response = await fetch(path);
    /** @type {ServiceDocument | undefined} */
    const answer = response.ok ? await response.json() : undefined;
    if (path === chosen) detailsCode = response.status;
    if (answer !== undefined && path === chosen) {
      details = answer;
      showDetails(answer);
      show();
    }
  } catch {
    // The stream says that nobody answers.
  } finally {
    isAsking = false;
    const now = performance.now();
    nextMs = path === chosen ? now + Math.max(DETAILS_MS, DETAILS_SHARE * (now - beganMs)) : 0;
  }
}

/** @param {string} text */
function take(text) {
  status = JSON.parse(text);
  show();
  void ask();
}

function away() {
  const since =
    status === undefined ? '' : ` The state below is from ${new Date(status.time).toLocaleTimeString()}.`;
  showVerdict('bad', `celery-otel does not answer: it has stopped, or cannot be reached from here.${since}`);
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

document.addEventListener('visibilitychange', openOrClose);
openOrClose();
