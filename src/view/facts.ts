/** The verdict, the other problems, and the facts of a service, as texts. Pure: it draws nothing. */
import { droppedText, droppedTone, GRADES, PHASES, type Tone } from './columns.ts';
import { clock, duration, number } from './numbers.ts';
import type { ServiceDetails, ServiceStatus, StatusSnapshot } from './snapshot.ts';

export const SIGNS = { good: '✓', quiet: '?', warn: '!', bad: '✗' } as const satisfies Partial<
  Record<Tone, string>
>;

export interface Verdict {
  readonly tone: keyof typeof SIGNS;
  readonly text: string;
}

/** @param status its summary contains no times, since readers are in any time zone */
export function verdictOf(status: StatusSnapshot): Verdict {
  const { grade, problems, summary } = status;
  const [, tone] = GRADES[grade];
  const [worst, ...others] = problems;
  if (worst === undefined) return { tone, text: summary };
  const [word] = GRADES[worst.grade];
  const more = others.length === 0 ? '' : ` (${others.length} more below)`;
  return { tone, text: `${word.charAt(0).toUpperCase()}${word.slice(1)}: ${problemText(worst)}${more}` };
}

/** The problems after the first one, which the verdict contains. */
export function otherProblems({ problems }: StatusSnapshot): readonly string[] {
  return problems.slice(1).map(problemText);
}

const SERVICES_MAX = 3;

/** One problem: the services, what is wrong, since when, and what to do. */
function problemText({ services, service_count, line, since, remedy, runbook }: Problem): string {
  const some = services.slice(0, SERVICES_MAX);
  const more = service_count > some.length ? ` and ${service_count - some.length} more` : '';
  const advice = remedy === '' ? '' : ` ${remedy}`;
  return `${some.join(', ')}${more}: ${line}, since ${clock(new Date(since))}.${advice} (${runbook})`;
}

type Problem = StatusSnapshot['problems'][number];

interface FactRow {
  readonly label: string;
  /** The label in the single line of a terminal; facts without it are not in that line. */
  readonly short?: string;
  /** Undefined if there is nothing to show. */
  readonly text: (service: ServiceStatus, details: ServiceDetails | undefined) => string | undefined;
  readonly tone?: (service: ServiceStatus) => Tone;
  /** Whether the fact is about celery-otel itself. */
  readonly isOfBridge?: true;
}

const FACTS: readonly FactRow[] = [
  { label: 'Broker', text: ({ broker, phase }) => `${broker ?? 'none yet'} (${PHASES[phase][0]})` },
  {
    label: 'All below is as of',
    short: 'as of',
    text: ({ as_of }) => (as_of === null ? undefined : clock(new Date(as_of))),
    tone: () => 'warn',
  },
  { label: 'Events per second', text: ({ events }) => number(events.per_second) },
  { label: 'Lag', short: 'lag', text: ({ events }) => duration(events.lag_s), isOfBridge: true },
  {
    label: 'Not counted',
    short: 'not counted',
    text: ({ events }) => droppedText(events.dropped),
    tone: droppedTone,
    isOfBridge: true,
  },
  { label: 'Workers up', short: 'workers up', text: upOf },
  {
    label: 'Tasks running',
    short: 'running',
    text: ({ workers }, details) => number(runningOf(details) ?? workers?.active),
  },
  { label: 'Messages waiting', short: 'waiting', text: ({ queues }) => number(queues?.waiting) },
  { label: 'Not known', text: ({ unknown }) => unknown.map(({ line }) => line).join('; ') || undefined },
];

export interface Fact extends Pick<FactRow, 'label' | 'short' | 'isOfBridge'> {
  readonly text: string;
  readonly tone: Tone;
}

export function factsOf(service: ServiceStatus, details: ServiceDetails | undefined): readonly Fact[] {
  return FACTS.flatMap(({ text, tone, ...row }) => {
    const shown = text(service, details);
    return shown === undefined ? [] : [{ ...row, text: shown, tone: tone?.(service) ?? 'plain' }];
  });
}

/**
 * Counts the rows, which are newer than the counts of the last collection; but if not all workers have rows, takes
 * those counts.
 */
function upOf({ workers }: ServiceStatus, details: ServiceDetails | undefined): string {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total > 0 && total === rows.length)
    return `${number(rows.filter(({ up }) => up).length)} of ${number(total)}`;
  return workers === null ? 'not known yet' : `${number(workers.up)} of ${number(workers.known)}`;
}

/** The sum over the rows of workers; undefined if not all workers have rows. */
function runningOf(details: ServiceDetails | undefined): number | undefined {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total === 0 || total > rows.length) return undefined;
  return rows.reduce((sum, { running }) => sum + (running ?? 0), 0);
}
