/** The verdict, the problems and the facts of a service, as of the last document. It asks for nothing. */
import { byId, element, setText } from './elements.js';
import { duration, number } from './formats.js';

/** @import { StatusDocument, StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */

const SIGNS = { ok: '✓', warn: '!', bad: '✗' };

/**
 * @param {keyof typeof SIGNS} state
 * @param {string} text
 */
export function showVerdict(state, text) {
  const verdict = byId('verdict');
  verdict.className = state;
  // It counts seconds: nobody wants to hear it again and again.
  verdict.setAttribute('aria-live', state === 'ok' ? 'off' : 'polite');
  setText(verdict, `${SIGNS[state]} ${text}`);
  document.title = `${SIGNS[state]} celery-otel`;
}

/** @param {StatusDocument} status */
export function showStatus({ ok, summary, problems, process }) {
  showVerdict(
    !ok ? 'bad' : problems.length > 0 ? 'warn' : 'ok',
    summary.replace('see problems.', 'see below.'),
  );
  // The verdict has the first one.
  byId('problems').hidden = problems.length < 2;
  const lines = problems.map(({ service, line, remedy }) => `${service}: ${line}. ${remedy}`.trim());
  const list = byId('problems').querySelector('ul');
  if (list !== null && list.dataset['lines'] !== lines.join('\n')) {
    list.dataset['lines'] = lines.join('\n');
    list.replaceChildren(...lines.map((line) => element('li', {}, line)));
  }
  const { version, uptime_s, memory_bytes } = process;
  setText(
    byId('process'),
    `${version}, up for ${duration(uptime_s)}${memory_bytes === null ? '' : `, ${Math.round(memory_bytes / 1e6)} MB of memory`}`,
  );
}

/** @type {Readonly<Record<StatusService['phase'], string>>} */
const PHASES = {
  waiting: 'not connected',
  listening: 'connected',
  stopped: 'stopped',
  finished: 'recording played',
  unusable: 'recording unusable',
};

/**
 * The rows are newer than what is counted at each collection, but not all of many.
 * @param {StatusService} service
 * @param {ServiceDocument | undefined} details
 * @returns {string}
 */
function upOf({ workers }, details) {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total > 0 && total === rows.length)
    return `${number(rows.filter(({ up }) => up).length)} of ${number(total)}`;
  return workers ? `${number(workers.up)} of ${number(workers.known)}` : 'not known yet';
}

/**
 * @param {ServiceDocument | undefined} details
 * @returns {number | undefined}
 */
function runningOf(details) {
  const rows = details?.workers.rows;
  return rows?.length ? rows.reduce((sum, { running }) => sum + (running ?? 0), 0) : undefined;
}

/**
 * @param {StatusService} service
 * @param {ServiceDocument | undefined} details
 */
export function showFacts(service, details) {
  setText(byId('service-name'), service.name);
  const { events, workers, queues, instances, defects, unknown } = service;
  const dropped = Object.entries(events.dropped);
  const series = details?.series;
  // Before the first export there is nothing to tell.
  const fullest = series?.live ? series.fullest : null;
  const facts = [
    ['Broker', `${service.broker ?? 'none yet'} (${PHASES[service.phase]})`],
    ['Events per second', number(events.per_second)],
    ['Events since the start', number(events.received)],
    ['Lag', duration(events.lag_s)],
    [
      'Not counted',
      dropped.length === 0
        ? 'none'
        : dropped.map(([reason, count]) => `${number(count)} ${reason}`).join(', '),
    ],
    ['Workers up', upOf(service, details)],
    ['Tasks running', number(workers?.active ?? runningOf(details))],
    ['Messages waiting', number(queues?.waiting)],
    ['Series', series ? number(series.live) : '–'],
    [
      'Nearest to its limit',
      fullest ? `${fullest.metric}: ${number(fullest.live)} of ${number(fullest.limit)}` : '–',
    ],
    ...(instances !== null && instances > 1 ? [['celery-otel that export it', number(instances)]] : []),
    ...(unknown.length > 0 ? [['Not known', unknown.map(({ line }) => line).join('; ')]] : []),
    ...(defects > 0 ? [['Internal errors', number(defects)]] : []),
  ];
  const list = byId('facts');
  while (list.children.length > facts.length) list.lastElementChild?.remove();
  for (const [index, [term = '', text = '']] of facts.entries()) {
    const item = list.children[index] ?? list.appendChild(element('div', {}, element('dt'), element('dd')));
    if (item.firstElementChild !== null) setText(item.firstElementChild, term);
    if (item.lastElementChild !== null) setText(item.lastElementChild, text);
  }
}
