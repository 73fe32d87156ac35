/**
 * The settings of an inspection (regular commands to the workers), its memory across sessions, and its callbacks. Types
 * only.
 */
import type { AskedCommand, RiskyCommand } from '../../broker/control/commands.ts';
import type { ControlSettings } from '../../broker/control/control.ts';
import type { Answers } from '../../cluster/answers.ts';
import type { SelfEvent } from '../../self/self-event.ts';
import type { YieldToLoop } from '../../timing/cooperative.ts';
import type { Rhythm } from '../../timing/rhythm.ts';
import type { QuestionerOptions } from './questioner.ts';
import type { AskedResult } from './replies.ts';

export type Refusal = Omit<SelfEvent<'command-skipped'>, 'kind' | 'service'>;

export interface InspectionOptions extends ControlSettings, Rhythm, QuestionerOptions {
  readonly answers: QuestionerOptions['answers'] & Pick<Answers, 'workersUp' | 'workersAsked' | 'workerDeaf'>;
  readonly yieldToLoop: YieldToLoop;
  readonly memory: InspectionMemory;
  readonly onAsked: (asked: AskedResult) => void;
  /** Called the first time a command is skipped for a worker. */
  readonly onSkipped: (refusal: Refusal) => void;
  /** Called when a worker stops listening for good, and when it recovers. */
  readonly onDeaf: (nodename: string, isDeaf: boolean) => void;
}

/** Facts that are kept across sessions with the broker. */
export interface InspectionMemory {
  /** When each risky command was last sent, by a monotonic clock. */
  readonly riskyAskedMs: Map<RiskyCommand, number>;
  /** By process: the commands that it does not answer, though it answers pings. */
  readonly unanswered: WeakMap<object, Set<AskedCommand>>;
  /** By command: the worker that stopped listening after it; no other worker gets the command then. */
  readonly deafenedBy: Map<AskedCommand, string>;
}

export function newMemory(): InspectionMemory {
  return { riskyAskedMs: new Map(), unanswered: new WeakMap(), deafenedBy: new Map() };
}
