/** The verdict, the other problems, and the facts of a service, as texts. Pure: it draws nothing. */
import { PHASES, type Tone } from './columns.ts';
import { duration, NONE, number } from './numbers.ts';
import type { ServiceDetails, ServiceStatus, StatusSnapshot } from './snapshot.ts';

export const SIGNS = { good: '✓', warn: '!', bad: '✗' } as const satisfies Partial<Record<Tone, string>>;

export interface Verdict {
  readonly tone: keyof typeof SIGNS;
  readonly text: string;
}

export function verdictOf({ ok, problems, summary }: StatusSnapshot): Verdict {
  const tone = !ok ? 'bad' : problems.length > 0 ? 'warn' : 'good';
  return { tone, text: summary.replace('see problems.', 'see below.') };
}

/** Those after the first one, which the verdict has. */
export function otherProblems({ problems }: StatusSnapshot): readonly string[] {
  return problems.slice(1).map(({ service, line, remedy }) => `${service}: ${line}. ${remedy}`.trim());
}

interface FactRow {
  readonly label: string;
  /** In the one line of a terminal; facts without it are not in that line. */
  readonly short?: string;
  /** Undefined if there is nothing to show. */
  readonly text: (service: ServiceStatus, details: ServiceDetails | undefined) => string | undefined;
  readonly tone?: (service: ServiceStatus) => Tone;
}

const FACTS: readonly FactRow[] = [
  { label: 'Broker', text: ({ broker, phase }) => `${broker ?? 'none yet'} (${PHASES[phase][0]})` },
  { label: 'Events per second', text: ({ events }) => number(events.per_second) },
  { label: 'Events since the start', text: ({ events }) => number(events.received) },
  { label: 'Lag', short: 'lag', text: ({ events }) => duration(events.lag_s) },
  {
    label: 'Not counted',
    short: 'not counted',
    text: ({ events }) =>
      Object.entries(events.dropped)
        .map(([reason, count]) => `${number(count)} ${reason}`)
        .join(', ') || 'none',
    tone: ({ events }) => (Object.keys(events.dropped).length === 0 ? 'plain' : 'warn'),
  },
  { label: 'Workers up', short: 'workers up', text: upOf },
  {
    label: 'Tasks running',
    short: 'running',
    text: ({ workers }, details) => number(workers?.active ?? runningOf(details)),
  },
  { label: 'Messages waiting', short: 'waiting', text: ({ queues }) => number(queues?.waiting) },
  { label: 'Series', text: (_, details) => number(details?.series?.live) },
  { label: 'Nearest to its limit', text: (_, details) => fullestOf(details) },
  {
    label: 'Instances that export it',
    text: ({ instances }) => (instances !== null && instances > 1 ? number(instances) : undefined),
  },
  { label: 'Not known', text: ({ unknown }) => unknown.map(({ line }) => line).join('; ') || undefined },
  { label: 'Internal errors', text: ({ defects }) => (defects > 0 ? number(defects) : undefined) },
];

export interface Fact extends Pick<FactRow, 'label' | 'short'> {
  readonly text: string;
  readonly tone: Tone;
}

export function factsOf(service: ServiceStatus, details: ServiceDetails | undefined): readonly Fact[] {
  return FACTS.flatMap(({ text, tone, ...row }) => {
    const shown = text(service, details);
    return shown === undefined ? [] : [{ ...row, text: shown, tone: tone?.(service) ?? 'plain' }];
  });
}

/** The rows are newer than the counts, which are of the last collection; but there may be more workers than rows. */
function upOf({ workers }: ServiceStatus, details: ServiceDetails | undefined): string {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total > 0 && total === rows.length)
    return `${number(rows.filter(({ up }) => up).length)} of ${number(total)}`;
  return workers === null ? 'not known yet' : `${number(workers.up)} of ${number(workers.known)}`;
}

function runningOf(details: ServiceDetails | undefined): number | undefined {
  const rows = details?.workers.rows;
  return rows?.length ? rows.reduce((sum, { running }) => sum + (running ?? 0), 0) : undefined;
}

/** Before the first export there are no series. */
function fullestOf(details: ServiceDetails | undefined): string {
  const { live = 0, fullest = null } = details?.series ?? {};
  if (live === 0 || fullest === null) return NONE;
  return `${fullest.metric}: ${number(fullest.live)} of ${number(fullest.limit)}`;
}
