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
  /** The text between the parts of a binding; undefined: the workers’ own. */
  readonly separator: string | undefined;
  /** Reports whether workers that use other separators still run; undefined: unknown. */
  readonly fates?: Fates | undefined;
}

/** Whether a worker still runs, according to its events. Only a worker that is `gone` cannot be harmed by a command. */
export type Fate = 'up' | 'gone' | 'unknown';
/** @returns the current state of any worker */
export type Fates = () => Promise<(nodename: string) => Fate>;

export interface ControlQuestion {
  readonly command: ControlCommand;
  /** The workers that the command is for; undefined: all. */
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

/** How many replies were dropped, by reason. */
export interface Untaken {
  /** Replies to an earlier command. */
  readonly late: number;
  readonly tooLarge: number;
  /** Replies whose headers cannot be read, so that their command is unknown. */
  readonly unreadable: number;
  /** Replies after the limit on bytes was reached. */
  readonly beyond: number;
}

export interface ControlAnswer {
  /** How many workers the command reached; undefined if the broker does not report it, 0 if no worker is listening. */
  readonly receivers: number | undefined;
  /** How many replies were passed to `take`. */
  readonly taken: number;
  readonly untaken: Untaken;
  /** The clients that can receive the command; undefined if the broker does not report them. */
  readonly audience?: Audience | undefined;
}

/** The clients that can receive a command, whether or not it is addressed to them. */
export interface Audience {
  /** How many clients listen: workers, and Celery beat from 5.7 on. */
  readonly listening: number;
  /** Nodenames with a mailbox, that is, with remote control. A killed worker’s mailbox may remain. */
  readonly mailboxes: ReadonlySet<string>;
}
