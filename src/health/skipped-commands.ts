/** What a check and the status report of questions that workers are not asked, or that one could not stand. Pure. */
import type { AskedName, SelfEvent, Skipped } from '../self/self-event.ts';
import { type Finding, finding, findingAbout, type SymptomCode, someOf } from './symptoms.ts';

type Refusal = SelfEvent<'command-skipped'>;

/** By worker and kind of reason. Bounded by its owner. */
export type Refusals = Map<string, Refusal>;

/** What is not asked now. */
export interface SkippedNow {
  readonly skipped: ReadonlyMap<string, Refusal>;
}

const KINDS = ['serializer', 'version', 'unanswered', 'deaf'] as const satisfies Skipped['kind'][];

const NAMED_MAX = 5;
/** Kinds of refusals of one reason. */
const LINES_MAX = 20;
/** What a reply would tell. */
const PROVIDES: Partial<Readonly<Record<AskedName, string>>> = {
  stats: 'pools',
  active_queues: 'workers of queues',
  active: 'tasks that were running before',
};
const LIST = new Intl.ListFormat('en');

/** Takes one, instead of one for the same reason; of a worker that was restarted or has left, none is kept. */
export function noteSkipped(refusals: Refusals, refusal: Refusal, most: number): void {
  const { worker, why } = refusal;
  for (const kind of why.kind === 'over' ? KINDS : [why.kind]) refusals.delete(`${kind} ${worker}`);
  if (why.kind !== 'over' && refusals.size < most) refusals.set(`${why.kind} ${worker}`, refusal);
}

/** The workers of which something is not asked for that reason. */
export function skippedFor(kind: Skipped['kind'], { skipped: all }: SkippedNow): readonly string[] {
  return refusalsFor(kind, all).map(({ worker }) => worker);
}

export function skipped(now: SkippedNow): readonly Finding[] {
  return [
    ...findingAbout('replies-unreadable', skippedFor('serializer', now)),
    ...alike('version', 'questions-withheld', now),
    ...alike('unanswered', 'reply-failed', now),
    ...alike('deaf', 'deafened-by-question', now),
  ];
}

/** A finding for all workers of which the same is not asked. */
function alike(kind: Skipped['kind'], code: SymptomCode, { skipped: all }: SkippedNow): readonly Finding[] {
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
        NAMED_MAX,
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
