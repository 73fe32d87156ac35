/** What a check and the status report of questions that workers are not asked, or that one could not stand. Pure. */
import type { AskedName, SelfEvent, Withheld } from '../self/self-event.ts';
import { type Finding, finding, findingAbout, type SymptomCode, someOf } from './symptoms.ts';

type Refusal = SelfEvent<'question-withheld'>;

/** What is not asked now. Bounded by its owner. */
export interface WithheldNow {
  readonly withheld: readonly Refusal[];
}

const NAMED_MAX = 5;
/** Kinds of refusals of one reason. */
const LINES_MAX = 20;
/** What a reply would tell. */
const TOLD: Partial<Readonly<Record<AskedName, string>>> = {
  stats: 'pools',
  active_queues: 'workers of queues',
  active: 'tasks that were running before',
};
const LIST = new Intl.ListFormat('en');

/** With one more, instead of one for the same reason; none of a worker that was restarted or has left. */
export function noteWithheld(before: readonly Refusal[], refusal: Refusal, most: number): readonly Refusal[] {
  const { worker, why } = refusal;
  const others = before.filter(
    (each) => each.worker !== worker || (why.kind !== 'over' && each.why.kind !== why.kind),
  );
  return why.kind !== 'over' && others.length < most ? [...others, refusal] : others;
}

/** The workers of which something is not asked for that reason. */
export function withheldFor(kind: Withheld['kind'], { withheld: all }: WithheldNow): readonly string[] {
  return all.filter(({ why }) => why.kind === kind).map(({ worker }) => worker);
}

export function withheld(now: WithheldNow): readonly Finding[] {
  return [
    ...findingAbout('replies-unreadable', withheldFor('serializer', now)),
    ...alike('version', 'questions-withheld', now),
    ...alike('unanswered', 'reply-failed', now),
    ...alike('deaf', 'deafened-by-question', now),
  ];
}

/** A finding for all workers of which the same is not asked. */
function alike(
  kind: Withheld['kind'],
  code: SymptomCode,
  { withheld: all }: WithheldNow,
): readonly Finding[] {
  const refusals = all.filter(({ why }) => why.kind === kind);
  const groups = Map.groupBy(refusals, (each) => `${versionOf(each)} ${each.commands.join(' ')}`);
  return [...groups.values()].slice(0, LINES_MAX).flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const names = [...new Set(group.map(({ worker }) => worker))];
    return finding(code, {
      workers: someOf(names, NAMED_MAX),
      commands: LIST.format(first.commands),
      missing: LIST.format(first.commands.flatMap((command) => TOLD[command] ?? [])),
      version: versionOf(first) || 'of an unknown version',
    });
  });
}

function versionOf({ why }: Refusal): string {
  return why.kind === 'version' ? why.version : '';
}
