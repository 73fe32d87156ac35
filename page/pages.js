/** What each page has, as of the last documents: titles, problems, facts and tables. It draws nothing and asks for nothing. */
import { timeOf } from './parts.js';
import {
  duration,
  factsOf,
  GRADES,
  number,
  outcomeText,
  outcomeTone,
  QUEUES,
  STAGES,
  TASK_RATES,
  TASK_TOTALS,
  taskRows,
  WORKERS,
} from './view.js';

/** @import { StatusDocument, StatusGrade, StatusProblem, StatusService } from '../src/health/status-document.ts' */
/** @import { ServiceDocument } from '../src/health/service-document.ts' */
/** @import { Column, Fact, Place } from './view.js' */
/** @import { Link } from './parts.js' */
/** @typedef {Pick<Fact, 'label' | 'text' | 'tone'>} ShownFact */
/** @import { RowDocument } from './row-page.js' */
/** @import { FoundDocument } from '../src/health/details.ts' */
/** @typedef {'services' | 'tasks' | 'queues' | 'workers' | 'bridged' | 'exports' | 'limits'} StatusTable */
/** @typedef {StatusTable | 'open' | 'running' | 'taskRuns' | 'queueRuns' | 'workerRuns' | 'runs'} TableName */

/**
 * @typedef {object} Page
 * @property {string} title
 * @property {StatusGrade} [grade]
 * @property {string} [subtitle]
 * @property {readonly Link[]} [crumbs]
 * @property {readonly StatusProblem[]} [problems]
 * @property {readonly ShownFact[]} [facts]
 * @property {readonly ShownFact[]} [totals]
 * @property {readonly TableName[]} [tables]
 */

/** @type {Link} */
const OVERVIEW = { text: 'Overview', place: { page: 'overview' } };
/** @type {readonly TableName[]} */
const OF_SERVICE = ['tasks', 'queues', 'workers'];
/** @type {Readonly<Record<'task' | 'queue' | 'worker', readonly TableName[]>>} */
const OF_ROW = { task: ['taskRuns'], queue: ['queueRuns'], worker: ['running', 'workerRuns'] };

/**
 * The service whose details the page needs.
 * @param {Place | undefined} place
 * @param {readonly StatusService[]} services
 * @returns {StatusService | undefined}
 */
export function serviceOf(place, services) {
  if (place?.page === 'overview') return services.length === 1 ? services[0] : undefined;
  if (place === undefined || !('service' in place)) return undefined;
  return services.find(({ name }) => name === place.service);
}

/**
 * @param {Place | undefined} place
 * @param {StatusDocument} status
 * @param {ServiceDocument | undefined} details
 * @param {RowDocument | undefined} row the document of the row or the id that the page is about
 * @returns {Page}
 */
export function pageOf(place, status, details, row) {
  const service = serviceOf(place, status.services);
  if (place === undefined) return { title: 'There is no such page', crumbs: [OVERVIEW] };
  switch (place.page) {
    case 'overview':
      return overview(status, service, details);
    case 'problems':
      return {
        ...{ title: problemCount(status), grade: status.grade, problems: status.problems },
        subtitle: status.problems.length === 0 ? status.summary : 'By cause, the worst first.',
      };
    case 'bridge':
      return {
        ...{ title: 'Bridge', subtitle: 'How celery-otel itself reads, keeps and exports.' },
        problems: status.problems.filter((each) => !each.services.some((name) => isService(status, name))),
        ...{ facts: processFacts(status), tables: ['bridged', 'exports', 'limits'] },
      };
    case 'run':
      return runPage(place.id, row !== undefined && 'found' in row ? row : undefined);
    default:
      if (service === undefined) return unknownService(place.service, status);
      if (place.page === 'service') return { ...servicePage(status, service, details), crumbs: [OVERVIEW] };
      return rowPage(place, status, service, details, row);
  }
}

/**
 * @param {StatusDocument} status
 * @param {StatusService | undefined} service the only one
 * @param {ServiceDocument | undefined} details
 * @returns {Page}
 */
function overview(status, service, details) {
  const { problems, grade, summary, live } = status;
  const title = { title: overviewTitle(status), grade };
  const more = problems.length > 1 ? ', by cause, the worst first.' : '.';
  const subtitle = problems.length === 0 || !live ? summary : problemCount(status) + more;
  if (service === undefined) return { ...title, subtitle, problems, tables: ['services'] };
  return { ...servicePage(status, service, details), ...title, subtitle, problems };
}

/** @param {StatusDocument} status */
function overviewTitle({ services, grade }) {
  /** @type {readonly StatusGrade[]} */
  const grades = ['down', 'degraded', 'unknown', 'fine'];
  const counts = grades.flatMap((each) => {
    const alike = services.filter((service) => service.grade === each);
    return alike.length === 0 ? [] : [{ grade: each, count: alike.length }];
  });
  const [worst] = counts;
  const [word] = GRADES[grade];
  if (worst?.grade !== grade) return `celery-otel is ${word}`;
  if (services.length === 1) return `${services[0]?.name} is ${word}`;
  if (counts.length === 1) return `All ${services.length} services are ${word}`;
  return counts
    .filter((each) => each.grade !== 'fine')
    .map(({ grade: each, count }, index) => {
      const of = index === 0 ? ` of ${services.length} services` : '';
      return `${count}${of} ${count === 1 ? 'is' : 'are'} ${GRADES[each][0]}`;
    })
    .join(', ');
}

/** @param {StatusDocument} status */
function problemCount({ problems: { length } }) {
  return length === 0 ? 'No problems' : `${length} problem${length === 1 ? '' : 's'}`;
}

/**
 * @param {StatusDocument} status
 * @param {string} name
 */
function isService({ services }, name) {
  return services.some((service) => service.name === name);
}

/**
 * @param {StatusDocument} status
 * @returns {readonly ShownFact[]}
 */
function processFacts({ process, services }) {
  const { version, uptime_s, cpu_s, memory_bytes, pid } = process;
  return [
    ['Version', version],
    ['Up for', duration(uptime_s)],
    ['Memory', memory_bytes === null ? '–' : `${Math.round(memory_bytes / 1e6)} MB`],
    ['Processor time', duration(cpu_s)],
    ['Process id', String(pid)],
    ['Services', number(services.length)],
  ].map(([label = '', text = '']) => ({ label, text, tone: 'plain' }));
}

/**
 * @param {StatusDocument} status
 * @param {StatusService} service
 * @param {ServiceDocument | undefined} details
 * @returns {Page}
 */
function servicePage({ problems }, service, details) {
  return {
    ...{ title: service.name, grade: service.grade, subtitle: `Service, ${GRADES[service.grade][0]}` },
    problems: problems.filter(({ services }) => services.includes(service.name)),
    facts: factsOf(service, details).filter(({ isOfBridge }) => isOfBridge !== true),
    tables: OF_SERVICE,
  };
}

/**
 * @param {string} name
 * @param {StatusDocument} status
 * @returns {Page}
 */
function unknownService(name, { services, time }) {
  return {
    ...{ title: name, grade: 'unknown', crumbs: [OVERVIEW] },
    subtitle: `celery-otel has no service of this name. It was looked for at ${timeOf(time)} among ${services.length}.`,
  };
}

/**
 * @param {Extract<Place, { readonly name: string }>} place
 * @param {StatusDocument} status
 * @param {StatusService} service
 * @param {ServiceDocument | undefined} details
 * @param {RowDocument | undefined} row
 * @returns {Page}
 */
function rowPage({ page, name }, { problems }, service, details, row) {
  /** @type {Page} */
  const head = {
    title: name,
    tables: row === undefined ? [] : OF_ROW[page],
    crumbs: [OVERVIEW, { text: service.name, place: { page: 'service', service: service.name } }],
    problems: problems.filter(
      ({ services, names }) =>
        services.includes(service.name) && names.some((each) => each.kind === page && each.name === name),
    ),
  };
  const of = `${page} of ${service.name}`;
  const what = of.charAt(0).toUpperCase() + of.slice(1);
  if (details === undefined) return { ...head, subtitle: what };
  const known = rowFacts(page, name, details);
  if (known !== undefined) return { ...head, ...known, subtitle: what };
  if (row !== undefined && isAbout(row)) return { ...head, subtitle: `${what}, without a row of its own` };
  const { total, rows } = details[`${page}s`];
  const limit = rows.length < total ? ` among the first ${number(rows.length)}` : '';
  return {
    ...head,
    ...{ grade: 'unknown', tables: [] },
    subtitle: `celery-otel knows no ${page} of this name in ${service.name}. It was looked for at ${timeOf(details.time)}${limit}.`,
  };
}

/**
 * Whether anything is known of what the document is about.
 * @param {RowDocument} document
 */
function isAbout(document) {
  if ('found' in document) return document.found.length > 0;
  if (document.runs.length > 0) return true;
  if ('hour' in document) return document.hour !== null;
  return document.running.total > 0 || document.exits.length > 0;
}

/**
 * @param {string} id
 * @param {FoundDocument | undefined} document
 * @returns {Page}
 */
function runPage(id, document) {
  if (document === undefined) return { title: id, subtitle: 'Looking …', crumbs: [OVERVIEW] };
  const [known] = document.found;
  if (known === undefined) {
    const { remembered, time } = document;
    return {
      ...{ title: id, grade: 'unknown', crumbs: [OVERVIEW] },
      subtitle: `This id is not among the last ${number(remembered.runs)} runs that are remembered, and neither waiting nor running. It was looked for at ${timeOf(time)}.`,
    };
  }
  const { service, open, runs } = known;
  const task = open[0]?.task ?? runs[0]?.task ?? '';
  /** @type {readonly TableName[]} */
  const tables = [...(open.length > 0 ? /** @type {const} */ (['open']) : []), 'runs'];
  return {
    title: `${task || 'A task'} ${stateOf(known)}`,
    subtitle: `Run ${id} of ${service}`,
    crumbs: [
      OVERVIEW,
      { text: service, place: { page: 'service', service } },
      ...(task === ''
        ? []
        : [{ text: task, place: /** @type {const} */ ({ page: 'task', service, name: task }) }]),
    ],
    ...{ facts: runFacts(known), tables: runs.length === 0 ? ['open'] : tables },
  };
}

/** @param {FoundDocument['found'][number]} known */
function stateOf({ open: [open], runs: [run] }) {
  if (open !== undefined) return STAGES[open.stage];
  if (run === undefined) return 'is known';
  if (run.outcome === 'lost') return 'is lost';
  return run.outcome === 'unknown' ? 'ended unseen' : run.outcome;
}

/**
 * @param {FoundDocument['found'][number]} known
 * @returns {readonly ShownFact[]}
 */
function runFacts({ open: [open], runs: [run] }) {
  const one = open ?? run;
  if (one === undefined) return [];
  /** @type {readonly ShownFact[]} */
  const first =
    open === undefined
      ? [
          { label: 'Outcome', text: outcomeText(run ?? NO_END), tone: outcomeTone(run?.outcome ?? '') },
          { label: 'Waited', text: duration(run?.wait_s), tone: 'plain' },
          { label: 'Ran', text: duration(run?.runtime_s), tone: 'plain' },
        ]
      : [
          { label: 'State', text: STAGES[open.stage], tone: open.stage === 'doubtful' ? 'warn' : 'plain' },
          { label: 'For', text: duration(open.age_s), tone: 'plain' },
        ];
  return [
    ...first,
    { label: 'Retries before', text: number(one.retries), tone: 'plain' },
    { label: 'Worker', text: one.worker || '–', tone: 'plain' },
    { label: 'Queue', text: one.queue || '–', tone: 'plain' },
  ];
}

const NO_END = { outcome: 'unknown', error_type: '' };

/**
 * @param {'task' | 'queue' | 'worker'} page
 * @param {string} name
 * @param {ServiceDocument} details
 * @returns {Pick<Page, 'facts' | 'totals'> | undefined} undefined if there is no such row
 */
function rowFacts(page, name, details) {
  if (page === 'queue') return columnFacts(QUEUES, details.queues.rows, name);
  if (page === 'worker') {
    const facts = columnFacts(WORKERS, details.workers.rows, name)?.facts;
    return facts && { facts: facts.map(ofHeartbeat) };
  }
  const rates = columnFacts(TASK_RATES, taskRows(details, false).rows, name);
  const totals = columnFacts(TASK_TOTALS, taskRows(details, true).rows, name)?.facts ?? [];
  const labels = new Set(TASK_RATES.map(({ label }) => label));
  return rates && { ...rates, totals: totals.filter(({ label }) => !labels.has(label)) };
}

/**
 * The table of what a worker runs is made from events, of which some may be missing: so both say where they are from.
 * @param {ShownFact} fact
 * @returns {ShownFact}
 */
function ofHeartbeat(fact) {
  return fact.label === 'Running' ? { ...fact, label: 'Running by its heartbeat' } : fact;
}

/**
 * @template {{ readonly name: string }} Row
 * @param {readonly Column<Row>[]} columns
 * @param {readonly Row[]} rows
 * @param {string} name
 * @returns {{ readonly facts: readonly ShownFact[] } | undefined}
 */
function columnFacts(columns, rows, name) {
  const row = rows.find((each) => each.name === name);
  if (row === undefined) return undefined;
  return {
    facts: columns.slice(1).map(({ label, text, tone }) => ({ label, text: text(row), tone: tone(row) })),
  };
}
