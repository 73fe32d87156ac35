/** The contract of remote control: commands to workers and their results. Types only. */
import type { RawMessage } from '../raw-message.ts';
import type { ControlCommand, InspectChoice } from './commands.ts';
import type { Destination } from './request.ts';

/** The commands that are sent regularly. */
export interface ControlSettings {
  readonly commands: InspectChoice;
  /** Whether `enable_events` is sent to each worker. */
  readonly enableEvents: boolean;
  /** How long to wait for replies. */
  readonly timeoutMs: number;
  /** Celery’s `control_exchange`. */
  readonly namespace: string;
}

/** How replies arrive on Redis. */
export interface RedisReplies {
  /** Identifies the client on this host: its reply list has the same name after a restart, so that nothing is left behind. */
  readonly owner: string;
  /** Between the parts of a binding; undefined: that of the workers. */
  readonly separator: string | undefined;
  /** What is known of workers that keep their names with other separators; undefined: nothing. */
  readonly fates?: Fates | undefined;
}

/** What events show of a worker: only one that is `gone` cannot be harmed. */
export type Fate = 'up' | 'gone' | 'unknown';
/** @returns the current state of any worker */
export type Fates = () => Promise<(nodename: string) => Fate>;

export interface ControlQuestion {
  readonly command: ControlCommand;
  /** Undefined: all workers. */
  readonly destination?: Destination;
  /** Celery’s `control_exchange`. */
  readonly namespace: string;
  readonly redis: RedisReplies;
  /** How long to wait for replies. */
  readonly timeoutMs: number;
  /**
   * Takes a reply to this command; must not throw.
   * @returns whether all expected replies have arrived, which ends the wait if the number of receivers is unknown
   */
  readonly take: (reply: RawMessage) => boolean;
}

/** Why replies were dropped. */
export interface Untaken {
  /** They belong to an earlier command. */
  readonly late: number;
  readonly tooLarge: number;
  /** Their headers cannot be read, so their command is unknown. */
  readonly unreadable: number;
  /** There were more than one command can have. */
  readonly beyond: number;
}

export interface ControlAnswer {
  /** How many workers the command reached; undefined if the broker does not report it, 0 if no worker is listening. */
  readonly receivers: number | undefined;
  readonly taken: number;
  readonly untaken: Untaken;
  /** Who can receive it; undefined if the broker does not report it. */
  readonly audience?: Audience | undefined;
}

/** Who can receive a command, whether or not it is addressed to them. */
export interface Audience {
  /** Listening clients: workers, and Celery beat from 5.7 on. */
  readonly listening: number;
  /** Nodenames with a mailbox, that is, with remote control. A killed worker’s mailbox may remain. */
  readonly mailboxes: ReadonlySet<string>;
}
