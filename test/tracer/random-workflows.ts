/** Random workflows as facts: tasks that send tasks, and are retried, delivered twice, replaced or cut off. */

import type { Finished, FinishedRun, RunPlace, SentFacts } from '../../src/tracer/ancestry/finished.ts';
import { fc } from '../seed.ts';
import { lone, run, sent } from './finished-facts.ts';

/** What happens to a task after its first run. */
const STEPS = ['retry', 'redelivery', 'replace', 'accumulate'] as const;

interface Plan {
  /** Of the tasks before it; the first ones have none. */
  readonly parent: number;
  readonly parentRun: number;
  readonly isRoot: boolean;
  readonly isSentTold: boolean;
  readonly begins: boolean;
  readonly isAlone: boolean;
  readonly steps: readonly (typeof STEPS)[number][];
}

interface Made {
  readonly uuid: string;
  readonly rootId: string;
  readonly traceRootId: string;
  readonly places: readonly RunPlace[];
}

type Facts = { readonly made: Made; readonly facts: readonly Finished[] };

export const PLANS: fc.Arbitrary<readonly Plan[]> = fc.array(
  fc.record({
    parent: fc.nat(),
    parentRun: fc.nat(),
    isRoot: fc.boolean(),
    isSentTold: fc.boolean(),
    begins: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    isAlone: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    steps: fc.array(fc.constantFrom(...STEPS), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 12 },
);

/** The facts of all tasks, parents before children. */
export function workflow(plans: readonly Plan[]): readonly Finished[] {
  const tasks: Made[] = [];
  const facts: Finished[] = [];
  plans.forEach((plan, index) => {
    const withRuns = tasks.filter(({ places }) => places.length > 0);
    const parent = plan.isRoot ? undefined : withRuns[plan.parent % Math.max(1, withRuns.length)];
    const task = report(`task-${index}`, plan, parent);
    tasks.push(task.made);
    facts.push(...task.facts);
  });
  return facts;
}

function report(uuid: string, plan: Plan, parent: Made | undefined): Facts {
  const rootId = parent?.rootId ?? uuid;
  const beginsTrace = plan.begins && parent !== undefined;
  const traceRootId = beginsTrace ? uuid : (parent?.traceRootId ?? rootId);
  const parentId = parent?.uuid ?? '';
  const parentPlace = parent?.places[plan.parentRun % parent.places.length] ?? { retries: 0, delivery: 0 };
  const parentTraceRootId = parent?.traceRootId ?? '';
  const common = { uuid, rootId, traceRootId, beginsTrace, parentId, parentPlace, parentTraceRootId };
  const facts: Finished[] = [];
  if (plan.isAlone) {
    return {
      made: { uuid, rootId, traceRootId, places: [] },
      facts: [lone({ ...common, sent: reported('a') })],
    };
  }
  const runs = runsOf(plan, common);
  facts.push(...runs.facts);
  return { made: { uuid, rootId, traceRootId, places: runs.places }, facts };
}

function runsOf(plan: Plan, common: Partial<FinishedRun> & { readonly uuid: string }) {
  const { uuid, rootId = '', traceRootId = '' } = common;
  const first = { retries: 0, delivery: 0 };
  const places: RunPlace[] = [first];
  const facts: Finished[] = [run({ ...common, ...sending('a', plan, true) })];
  let name = 'a';
  let now: Partial<FinishedRun> = common;
  plan.steps.forEach((step, index) => {
    const last = places.at(-1) ?? first;
    const retries = step === 'retry' ? last.retries + 1 : step === 'redelivery' ? last.retries : 0;
    const place = { retries, delivery: places.filter((one) => one.retries === retries).length };
    const isNewName = step === 'replace' || step === 'accumulate';
    if (isNewName) name = `${step}-${index}`;
    if (step === 'retry' && now.parentId === '') now = { ...now, parentId: uuid };
    if (step === 'replace') now = { ...now, parentId: uuid };
    if (step === 'accumulate') {
      const member = `${uuid}-member-${index}`;
      const of = { uuid: member, rootId, traceRootId, parentId: uuid, parentPlace: last };
      facts.push(run({ ...of, ...sending('m', plan, true) }));
      now = { ...now, parentId: member, parentPlace: first };
    }
    const link = step === 'retry' ? 'retry_of' : step === 'redelivery' ? 'redelivery_of' : 'replaces';
    facts.push(run({ ...now, ...place, previous: { ...last, link }, ...sending(name, plan, isNewName) }));
    places.push(place);
  });
  return { places, facts };
}

function sending(name: string, { isSentTold }: Plan, isSentNew: boolean): Partial<FinishedRun> {
  return isSentTold ? { sent: reported(name), isSentNew } : {};
}

function reported(name: string): SentFacts {
  return sent({ name });
}
