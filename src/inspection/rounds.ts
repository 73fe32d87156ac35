/** The contract between rounds of questions and who runs them, and how often the questions come that are a danger. It asks nothing. */
import { isRisky } from '../broker/control/asked-commands.ts';
import type { AskedCommand, RiskyCommand } from '../broker/control/commands.ts';
import type { ControlSettings } from '../broker/control/control.ts';
import type { Rhythm } from '../broker/rhythm.ts';
import type { Answers } from '../cluster/answers.ts';
import type { YieldToLoop } from '../yielding.ts';
import type { Refusal } from './evidence.ts';
import type { QuestionerOptions } from './questioner.ts';
import type { Asked } from './replies.ts';

export interface InspectionOptions extends ControlSettings, Rhythm, QuestionerOptions {
  readonly answers: QuestionerOptions['answers'] &
    Pick<Answers, 'session' | 'workersUp' | 'workersAsked' | 'workerDeaf'>;
  readonly yieldToLoop: YieldToLoop;
  readonly memory: InspectionMemory;
  readonly onAsked: (asked: Asked) => void;
  /** A question is not asked of a worker, which was not said before. */
  readonly onWithheld: (refusal: Refusal) => void;
  readonly onDeaf: (nodename: string, isDeaf: boolean) => void;
}

/** What outlives a session. */
export interface InspectionMemory {
  /** When risky commands were asked last, by a monotonic clock. */
  readonly riskyAskedMs: Map<RiskyCommand, number>;
  /** The worker that went deaf when it was asked for its statistics: then nobody is asked any more. */
  deafenedByStats: string | undefined;
}

/** Some questions, one after the other. */
export interface Rounds {
  /** @returns whether any could be asked. Never rejects. */
  round(): Promise<boolean>;
  /** What must be noticed sooner than with the next round. Never rejects. @returns after how many ms it is due again */
  watch?(): Promise<number>;
}

/** Between two questions with one risky command, however often the connection is lost. */
const RISKY_INTERVAL_MS = 60_000;

export function isTooSoon({ riskyAskedMs }: InspectionMemory, command: AskedCommand): boolean {
  if (!isRisky(command)) return false;
  const askedMs = riskyAskedMs.get(command) ?? Number.NEGATIVE_INFINITY;
  return performance.now() - askedMs < RISKY_INTERVAL_MS;
}

export function noteRisky({ riskyAskedMs }: InspectionMemory, command: RiskyCommand): void {
  riskyAskedMs.set(command, performance.now());
}
