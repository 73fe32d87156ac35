/** What is above the tables: whether all is well, the problems with what to do, and how each service fares. Pure. */
import { fit, widthOf } from './cells.ts';
import { type Line, part, type Tone, wrapped } from './line.ts';
import { clock, duration, number } from './numbers.ts';
import type { Seen, ShownDetails, ShownService, ShownStatus } from './seen.ts';

const SIGNS = { good: '✓', warn: '!', bad: '✗' } as const;
const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/** A plot of more would be noise. */
const PLOT_WIDTH_MAX = 60;
const PLOT_WIDTH_MIN = 8;

/** Whether everything is fine, or what is wrong and what to do. */
export function verdictLines(seen: Seen, width: number, linesMax: number): readonly Line[] {
  const [tone, text] = verdictOf(seen);
  return wrapped(`${SIGNS[tone]} ${text}`, tone, width, linesMax);
}

function verdictOf({ status, away }: Seen): readonly [keyof typeof SIGNS, string] {
  if (away !== undefined) {
    const { since, reason, remedy } = away;
    const below = status === undefined ? '' : ` The state below is from ${clock(status.time)}.`;
    return ['bad', `not reachable since ${clock(since)}: ${reason}. ${remedy}${below}`];
  }
  if (status === undefined) return ['warn', 'Asking celery-otel …'];
  const { ok, problems, summary } = status;
  const tone = !ok ? 'bad' : problems.length > 0 ? 'warn' : 'good';
  return [tone, summary.replace('see problems.', 'see below.')];
}

/** Those after the first one, which the verdict has. */
export function problemLines(status: ShownStatus, width: number): readonly Line[] {
  const { problems } = status;
  if (problems.length < 2) return [];
  return problems
    .slice(1)
    .flatMap(({ service, line, remedy }) =>
      wrapped(`- ${service}: ${line}. ${remedy}`.trim(), 'plain', width, 2),
    );
}

const PHASES: Readonly<Record<ShownService['phase'], readonly [text: string, tone: Tone]>> = {
  waiting: ['not connected', 'bad'],
  listening: ['connected', 'plain'],
  stopped: ['stopped', 'warn'],
  finished: ['recording played', 'plain'],
  unusable: ['recording unusable', 'bad'],
};

/** One line of facts, and what fits of the plot of the events. */
export function serviceLines(
  service: ShownService,
  details: ShownDetails | undefined,
  width: number,
  isMarked: boolean,
): readonly Line[] {
  const { name, broker, phase, events } = service;
  const [state, tone] = PHASES[phase];
  const lost = Object.entries(events.dropped);
  const notCounted =
    lost.length === 0 ? 'none' : lost.map(([reason, count]) => `${number(count)} ${reason}`).join(', ');
  const rate = `${number(events.per_second)} events/s`;
  const rest = [
    ['lag ', duration(events.lag_s), 'plain'],
    ['not counted ', notCounted, lost.length === 0 ? 'plain' : 'warn'],
    ['workers up ', upOf(service, details), 'plain'],
    ['running ', number(service.workers?.active ?? runningOf(details)), 'plain'],
    ['waiting ', number(service.queues?.waiting), 'plain'],
  ] as const;
  const texts = rest.reduce((sum, [label, text]) => sum + 3 + widthOf(label) + widthOf(text), 0);
  const plot = plotOf(details, Math.min(PLOT_WIDTH_MAX, width - widthOf(rate) - texts - 4));
  return [
    [
      part(`${isMarked ? '▸ ' : ''}${name}`, 'title'),
      part('  '),
      part(broker === null ? '' : `${broker}, `),
      part(state, tone),
    ],
    [
      part(`  ${rate}`),
      part(plot === '' ? '' : ` ${plot}`, 'good'),
      ...rest.flatMap(([label, text, how]) => [part(`   ${label}`, 'quiet'), part(text, how)]),
    ],
    ...service.unknown.map(({ line }) => [part(`  ? ${line}`, 'quiet')]),
  ];
}

/** Of many services, one line each, the chosen one marked. */
export function shortServiceLine(service: ShownService, isChosen: boolean, nameWidth: number): Line {
  const [state, tone] = PHASES[service.phase];
  return [
    part(isChosen ? '▸ ' : '  '),
    part(fit(service.name, nameWidth), isChosen ? 'title' : 'plain'),
    part('  '),
    part(fit(state, 18), tone),
    part(fit(`${number(service.events.per_second)} events/s`, 16, true)),
    part(fit(`lag ${duration(service.events.lag_s)}`, 16, true)),
  ];
}

/** The rows are newer than what is counted at each collection, but not all of many. */
function upOf({ workers }: ShownService, details: ShownDetails | undefined): string {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total > 0 && total === rows.length)
    return `${number(rows.filter(({ up }) => up).length)} of ${number(total)}`;
  return workers === null ? 'not known yet' : `${number(workers.up)} of ${number(workers.known)}`;
}

function runningOf(details: ShownDetails | undefined): number | undefined {
  const rows = details?.workers.rows;
  return rows?.length ? rows.reduce((sum, { running }) => sum + (running ?? 0), 0) : undefined;
}

/** The events of the last hour at most, the newest on the right. */
function plotOf(details: ShownDetails | undefined, width: number): string {
  if (details === undefined || width < PLOT_WIDTH_MIN) return '';
  const { counts } = details.events;
  const columns = Math.min(width, counts.length);
  const averages = Array.from({ length: columns }, (_, column) => {
    const [from, to] = [column, column + 1].map((place) => Math.floor((place * counts.length) / columns));
    const part = counts.slice(from, to);
    return part.reduce((sum, count) => sum + count, 0) / part.length;
  });
  const most = averages.reduce((max, each) => Math.max(max, each), 0);
  if (most === 0) return '';
  return averages.map((each) => BARS[Math.round((each / most) * (BARS.length - 1))] ?? '').join('');
}
