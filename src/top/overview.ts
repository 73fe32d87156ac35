/** The lines above the tables: the verdict, the problems with their remedies, and the facts of each service. Pure. */
import { GRADES, PHASES } from '../view/columns.ts';
import { factsOf, otherProblems, SIGNS, type Verdict, verdictOf } from '../view/facts.ts';
import { clock, duration, number } from '../view/numbers.ts';
import type { ServiceDetails, ServiceStatus, Snapshot, StatusSnapshot } from '../view/snapshot.ts';
import { fit, widthOf } from './cells.ts';
import { type Line, part, wrapped } from './line.ts';

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/** A wider plot would show only noise. */
const PLOT_WIDTH_MAX = 60;
const PLOT_WIDTH_MIN = 8;
/** The longest word of a grade, and a gap, in cells. */
const GRADE_WIDTH = 11;

/** The verdict: that everything is fine, or what is wrong and what to do. */
export function verdictLines(snapshot: Snapshot, width: number, linesMax: number): readonly Line[] {
  const { tone, text } = currentVerdict(snapshot);
  return wrapped(`${SIGNS[tone]} ${text}`, tone, width, linesMax);
}

function currentVerdict({ status, unreachable }: Snapshot): Verdict {
  if (unreachable !== undefined) {
    const { since, reason, remedy } = unreachable;
    const below = status === undefined ? '' : ` The state below is from ${clock(new Date(status.time))}.`;
    return { tone: 'bad', text: `not reachable since ${clock(since)}: ${reason}. ${remedy}${below}` };
  }
  if (status === undefined) return { tone: 'warn', text: 'Asking celery-otel …' };
  return verdictOf(status);
}

export function problemLines(status: StatusSnapshot, width: number): readonly Line[] {
  return otherProblems(status).flatMap((problem) => wrapped(`- ${problem}`, 'plain', width, 2));
}

/** The name of a service, a line of facts, and a plot of its events if there is room. */
export function serviceLines(
  service: ServiceStatus,
  details: ServiceDetails | undefined,
  width: number,
  isMarked: boolean,
): readonly Line[] {
  const { name, broker, phase, events } = service;
  const [state, tone] = PHASES[phase];
  const rate = `${number(events.per_second)} events/s`;
  const facts = factsOf(service, details).flatMap(({ short, ...fact }) =>
    short === undefined ? [] : [{ ...fact, label: `${short} ` }],
  );
  const factsWidth = facts.reduce((sum, { label, text }) => sum + 3 + widthOf(label) + widthOf(text), 0);
  const plot = plotOf(details, Math.min(PLOT_WIDTH_MAX, width - widthOf(rate) - factsWidth - 4));
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
      ...facts.flatMap(({ label, text, tone: how }) => [part(`   ${label}`, 'quiet'), part(text, how)]),
    ],
    ...service.unknown.map(({ line }) => [part(`  ? ${line}`, 'quiet')]),
  ];
}

/** One line per service, for several services; the chosen one is marked. */
export function shortServiceLine(service: ServiceStatus, isChosen: boolean, nameWidth: number): Line {
  const [state, tone] = PHASES[service.phase];
  const [grade, gradeTone] = GRADES[service.grade];
  return [
    part(isChosen ? '▸ ' : '  '),
    part(fit(service.name, nameWidth), isChosen ? 'title' : 'plain'),
    part('  '),
    part(fit(grade, GRADE_WIDTH), gradeTone),
    part(fit(state, 18), tone),
    part(fit(`${number(service.events.per_second)} events/s`, 16, true)),
    part(fit(`lag ${duration(service.events.lag_s)}`, 16, true)),
  ];
}

/** A plot of the events of the last hour, newest on the right; '' if there are none or no room. */
function plotOf(details: ServiceDetails | undefined, width: number): string {
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
