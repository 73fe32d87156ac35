/** The contract of remote control: what is asked of workers, and what comes of it. Types only. */
import type { RawMessage } from '../raw-message.ts';
import type { ControlCommand, InspectChoice } from './commands.ts';
import type { Destination } from './request.ts';

/** What workers are asked regularly. */
export interface ControlSettings {
  readonly commands: InspectChoice;
  /** Whether each worker is told to send task events. */
  readonly enableEvents: boolean;
  /** For how long replies are awaited. */
  readonly timeoutMs: number;
  /** Celery’s `control_exchange`. */
  readonly namespace: string;
}

/** How replies come in on Redis. */
export interface RedisReplies {
  /** Who asks, on this host: its list of replies is the same after a restart, so that nothing is left behind. */
  readonly owner: string;
  /** Between the parts of a binding; undefined: that of the workers. */
  readonly separator: string | undefined;
  /** What is known of workers that keep their names with other separators; undefined: nothing. */
  readonly fates?: Fates | undefined;
}

/** What is known of a worker by its events: only one that is `gone` cannot be harmed. */
export type Fate = 'up' | 'gone' | 'unknown';
/** @returns what is known now, of any worker */
export type Fates = () => Promise<(nodename: string) => Fate>;

export interface ControlQuestion {
  readonly command: ControlCommand;
  /** Undefined: all workers. */
  readonly destination?: Destination;
  /** Celery’s `control_exchange`. */
  readonly namespace: string;
  readonly redis: RedisReplies;
  /** For how long replies are awaited. */
  readonly timeoutMs: number;
  /**
   * Takes a reply to this question; must not throw.
   * @returns whether all that are expected have come, which ends the question where the number of receivers is not known
   */
  readonly take: (reply: RawMessage) => boolean;
}

/** Why replies were not taken. */
export interface Untaken {
  /** They answer an earlier question. */
  readonly late: number;
  readonly tooLarge: number;
  /** Their headers cannot be read, so it is not known what they answer. */
  readonly unreadable: number;
  /** There were more than one question can have. */
  readonly beyond: number;
}

export interface ControlAnswer {
  /** How many workers the question reached; undefined if the broker does not say, 0 if there is nobody to ask. */
  readonly receivers: number | undefined;
  readonly taken: number;
  readonly untaken: Untaken;
  /** Who can hear it; undefined if the broker does not say. */
  readonly audience?: Audience | undefined;
}

/** Who can hear a question, whether or not it is for them. */
export interface Audience {
  /** Clients that listen: workers, and Celery’s beat from 5.7 on. */
  readonly listening: number;
  /** Nodenames that have a mailbox: those with remote control. That of a worker that was killed may remain. */
  readonly mailboxes: ReadonlySet<string>;
}
