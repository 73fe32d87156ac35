/** The columns of the tables: what of workers, queues, tasks, services and exports is shown, and how. Pure. */
import { ageOf, duration, number, percent } from './formats.js';

/** @import { StatusExport, StatusService } from '../src/health/status-document.ts' */
/** @import { QueueRow } from '../src/health/queue-rows.ts' */
/** @import { TaskRow, WorkerRow } from '../src/health/service-document.ts' */
/**
 * @template Row
 * @typedef {import('./table.js').Column<Row>} Column
 */

const FAILURES_BAD = 0.05;

/**
 * @template Row
 * @param {string} label
 * @param {(row: Row) => number | null} value
 * @param {(value: number | null) => string} [show]
 * @param {Column<Row>['tone']} [tone]
 * @returns {Column<Row>}
 */
function numeric(label, value, show = number, tone = () => '') {
  return { label, value, text: (row) => show(value(row)), tone };
}

/**
 * @template Row
 * @param {string} label
 * @param {(row: Row) => string} text
 * @param {Column<Row>['tone']} [tone]
 * @returns {Column<Row>}
 */
function named(label, text, tone = () => '') {
  return { label, value: text, text, tone, isName: true };
}

/** @type {readonly Column<WorkerRow>[]} */
export const WORKERS = [
  named('Worker', ({ name }) => name),
  named(
    'State',
    ({ up, deaf }) => (deaf ? 'deaf' : up ? 'up' : 'away'),
    ({ up, deaf }) => (deaf ? 'bad' : up ? '' : 'warn'),
  ),
  named('Pool', ({ pool }) => pool ?? '–'),
  numeric('Running', ({ running }) => running),
  numeric('Slots', ({ slots }) => slots),
  numeric('Prefetched', ({ prefetched }) => prefetched),
  numeric('Scheduled', ({ scheduled }) => scheduled),
  numeric(
    'Last sign of life',
    ({ seen_s }) => seen_s,
    duration,
    ({ up }) => (up ? '' : 'warn'),
  ),
  named('Celery', ({ celery }) => celery ?? '–'),
];

/** @type {readonly Column<QueueRow>[]} */
export const QUEUES = [
  named('Queue', ({ name }) => name),
  numeric('Length', ({ length }) => length),
  numeric(
    'Consumers',
    ({ consumers }) => consumers,
    number,
    ({ consumers, length }) => (consumers === 0 && length !== 0 ? 'bad' : ''),
  ),
  numeric('Slots', ({ slots }) => slots),
  numeric('Oldest waiting', ({ waiting_age_s }) => waiting_age_s, ageOf),
  numeric('Oldest running', ({ running_age_s }) => running_age_s, ageOf),
  numeric('Wait p95', ({ wait_p95_s }) => wait_p95_s, duration),
  numeric('Unacked', ({ unacked }) => unacked),
];

/**
 * @typedef {TaskRow & { readonly perMinute: number }} TimedTask with what makes a recent count a rate
 */

/**
 * @param {string} label
 * @param {(recent: TaskRow['recent']) => number} count
 * @param {Column<TimedTask>['tone']} [tone]
 */
const rate = (label, count, tone) =>
  numeric(label, (/** @type {TimedTask} */ { recent, perMinute }) => count(recent) * perMinute, number, tone);

/** @type {readonly Column<TimedTask>[]} */
export const TASKS = [
  named('Task', ({ name }) => name || '(all others)'),
  rate('Started/min', ({ started }) => started),
  rate('Succeeded/min', ({ succeeded }) => succeeded),
  rate('Failed/min', ({ failed }) => failed),
  numeric(
    'Failed share',
    ({ failure_ratio }) => failure_ratio,
    percent,
    ({ failure_ratio }) => ((failure_ratio ?? 0) > FAILURES_BAD ? 'bad' : ''),
  ),
  named('Exceptions', ({ errors }) => errors.map(({ type, count }) => `${type} ×${count}`).join(', ') || '–'),
  rate('Retried/min', ({ retried }) => retried),
  numeric('Runtime p50', ({ runtime_p50_s }) => runtime_p50_s, duration),
  numeric('Runtime p95', ({ runtime_p95_s }) => runtime_p95_s, duration),
  numeric(
    'Lost',
    ({ total }) => total.lost,
    number,
    ({ total }) => (total.lost > 0 ? 'warn' : ''),
  ),
  numeric('Running', ({ running }) => running),
  numeric('Ended unseen', ({ open, running }) => Math.max(0, open - (running ?? 0))),
  rate('Other ends/min', ({ rejected, revoked, cancelled }) => rejected + revoked + cancelled),
  numeric('Last event', ({ seen_s }) => seen_s, duration),
];

/** @type {readonly Column<StatusService>[]} */
export const SERVICES = [
  named('Service', ({ name }) => name),
  named(
    'Broker',
    ({ phase }) => (phase === 'waiting' ? 'away' : phase),
    ({ phase }) => (phase === 'waiting' || phase === 'unusable' ? 'bad' : ''),
  ),
  numeric('Events/s', ({ events }) => events.per_second),
  numeric('Lag', ({ events }) => events.lag_s, duration),
  numeric('Not counted', ({ events }) => Object.values(events.dropped).reduce((sum, each) => sum + each, 0)),
  numeric('Workers up', ({ workers }) => workers?.up ?? null),
  numeric('Running', ({ workers }) => workers?.active ?? null),
  numeric('Waiting', ({ queues }) => queues?.waiting ?? null),
];

/** @type {readonly Column<StatusExport & { readonly of: string }>[]} */
export const EXPORTS = [
  named('What', ({ of, signal }) => `${of}: ${signal}`),
  named('To', ({ backend }) => backend),
  named(
    'Last one',
    ({ outcome, reason }) => (reason === '' ? outcome : `${outcome}: ${reason}`),
    ({ outcome }) => (outcome === 'failure' ? 'bad' : outcome === 'partial' ? 'warn' : ''),
  ),
  numeric('Ago', ({ age_s }) => age_s, duration),
  numeric('Points', ({ items }) => items),
  numeric('Failures in a row', ({ failures }) => failures),
  numeric('Last success ago', ({ success_age_s }) => success_age_s, duration),
];
