/** Starts an inspection of which a test gives what matters to it, and waits for its questions. It plays no worker. */
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Session } from '../../../src/broker/broker.ts';
import { startInspecting } from '../../../src/service/inspection/inspection.ts';
import { type InspectionOptions, newMemory } from '../../../src/service/inspection/inspection-options.ts';

type Answers = InspectionOptions['answers'];

interface Given extends Partial<Omit<InspectionOptions, 'answers'>> {
  readonly answers: Partial<Answers> & Pick<Answers, 'workersUp'>;
}

/** @returns a function that ends it, and one that resolves once something holds when a question has ended */
export function inspecting(
  t: TestContext,
  ask: NonNullable<Session['ask']>,
  { answers, onAsked, ...given }: Given,
  listeners?: NonNullable<Session['listeners']>,
) {
  const waiting: (() => void)[] = [];
  const session = { receive: () => new Promise<never>(() => {}), ask };
  const stop = startInspecting(listeners === undefined ? session : { ...session, listeners }, {
    ...{ commands: ['stats'], enableEvents: false, timeoutMs: 500, namespace: 'celery' },
    ...{ intervalMs: 1, initialDelayMs: 0, random: () => 0, yieldToLoop: nextTurn, memory: newMemory() },
    ...{ redis: { owner: 'shop', separator: ':' }, now: () => ({ wallMs: 7, listenedMs: 42 }) },
    ...{ onReply() {}, onSkipped() {}, onDeaf() {}, onImplausible() {} },
    ...given,
    answers: {
      ...{ consumes: () => true, workerRuns: () => true, workerHas: () => true },
      ...{ workerReported() {}, workerLives() {}, workerDeaf() {}, workersAsked() {} },
      ...answers,
    },
    onAsked(asked) {
      onAsked?.(asked);
      for (const go of waiting.splice(0)) go();
    },
  });
  t.after(stop);
  return {
    stop,
    async until(holds: () => boolean): Promise<void> {
      while (!holds()) await new Promise<void>((go) => waiting.push(go));
    },
  };
}
