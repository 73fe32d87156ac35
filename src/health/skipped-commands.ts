/**
 * Findings of `check` and the status about remote control commands that are skipped for workers, or that a worker
 * failed at. Pure.
 */
import type { AskedName, SelfEvent, Skipped } from '../self/self-event.ts';
import { type Finding, finding, findingAbout, type SymptomCode, someOf } from './symptoms.ts';

type Refusal = SelfEvent<'command-skipped'>;

/** By kind of reason and worker. The owner bounds its size. */
export type Refusals = Map<string, Refusal>;

/** The commands that are currently skipped. */
export interface SkippedNow {
  readonly skipped: ReadonlyMap<string, Refusal>;
}

const KINDS = ['serializer', 'version', 'unanswered', 'deaf'] as const satisfies Skipped['kind'][];

/** How many workers a finding lists. */
const LISTED_MAX = 5;
/** How many findings there are for each reason. */
const LINES_MAX = 20;
/** The knowledge that the reply to a command would give. */
const PROVIDES: Partial<Readonly<Record<AskedName, string>>> = {
  stats: 'pools',
  active_queues: 'workers of queues',
  active: 'tasks that were running before',
};
const LIST = new Intl.ListFormat('en');

/**
 * Adds an entry, replacing one for the same reason; if a worker has restarted or left (`over`), removes all its
 * entries.
 */
export function noteSkipped(refusals: Refusals, refusal: Refusal, most: number): void {
  const { worker, why } = refusal;
  for (const kind of why.kind === 'over' ? KINDS : [why.kind]) refusals.delete(`${kind} ${worker}`);
  if (why.kind !== 'over' && refusals.size < most) refusals.set(`${why.kind} ${worker}`, refusal);
}

/** The workers for which commands are skipped for this reason. */
export function skippedFor(kind: Skipped['kind'], { skipped: all }: SkippedNow): readonly string[] {
  return refusalsFor(kind, all).map(({ worker }) => worker);
}

export function skipped(now: SkippedNow): readonly Finding[] {
  return [
    ...findingAbout('replies-unreadable', skippedFor('serializer', now)),
    ...groupedFindings('version', 'questions-withheld', now),
    ...groupedFindings('unanswered', 'reply-failed', now),
    ...groupedFindings('deaf', 'deafened-by-question', now),
  ];
}

/** Makes one finding for all workers for which the same commands are skipped. */
function groupedFindings(
  kind: Skipped['kind'],
  code: SymptomCode,
  { skipped: all }: SkippedNow,
): readonly Finding[] {
  const groups = Map.groupBy(
    refusalsFor(kind, all),
    (each) => `${versionOf(each)} ${each.commands.join(' ')}`,
  );
  return [...groups.values()].slice(0, LINES_MAX).flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    return finding(code, {
      workers: someOf(
        group.map(({ worker }) => worker),
        LISTED_MAX,
      ),
      commands: LIST.format(first.commands),
      missing: LIST.format(first.commands.flatMap((command) => PROVIDES[command] ?? [])),
      version: versionOf(first) || 'of an unknown version',
    });
  });
}

function refusalsFor(kind: Skipped['kind'], refusals: SkippedNow['skipped']): readonly Refusal[] {
  return [...refusals.values()].filter(({ why }) => why.kind === kind);
}

function versionOf({ why }: Refusal): string {
  return why.kind === 'version' ? why.version : '';
}
