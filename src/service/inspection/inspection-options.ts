/** What an inspection needs, what outlives its sessions, and what it reports. Types only. */
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
  readonly onDeaf: (nodename: string, isDeaf: boolean) => void;
}

/** What outlives a session. */
export interface InspectionMemory {
  /** When risky commands were last sent, by a monotonic clock. */
  readonly riskyAskedMs: Map<RiskyCommand, number>;
  /** By process: what it does not reply to, though it hears it. */
  readonly unanswered: WeakMap<object, Set<AskedCommand>>;
  /** The worker that went deaf after the command: then no other worker gets it. */
  readonly deafenedBy: Map<AskedCommand, string>;
}

export function newMemory(): InspectionMemory {
  return { riskyAskedMs: new Map(), unanswered: new WeakMap(), deafenedBy: new Map() };
}
