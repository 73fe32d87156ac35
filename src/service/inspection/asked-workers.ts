/**
 * The state of each worker with remote control, and which commands it gets. One on Redis with kombu before 5.7 that
 * cannot encode its reply never consumes a task again, and on any other broker it logs a traceback: no command is sent
 * that could stop a worker, and none is repeated that it did not reply to. Pure: it sends nothing.
 */
import {
  canFail,
  canHarm,
  isOnce,
  type OnceCommand,
  type RoundCommand,
} from '../../broker/control/asked-commands.ts';
import type { AskedCommand } from '../../broker/control/commands.ts';
import type { WorkerUp } from '../../cluster/answers.ts';
import { FAILED_REPLY_HARMLESS_FROM, isAtLeast } from '../../text/celery-version.ts';
import type { InspectionMemory, Refusal } from './inspection-options.ts';

export interface AskingRules {
  /** The questions of a round. */
  readonly commands: readonly RoundCommand[];
  /** Whether the configuration names them, at the user’s own risk. */
  readonly areNamed: boolean;
  /** Whether a reply that fails may stop a worker: on Redis. */
  readonly canHarm: boolean;
}

/** What is known of one. */
interface Known {
  /** Empty while unknown; more than one if several have its name. */
  processes: readonly object[];
  /** Of Celery, of each process. */
  versions: readonly string[];
  isUp: boolean;
  /** It has remote control, as far as known. */
  hasMailbox: boolean;
  /** In which form it replies; undefined as long as it does not. */
  serializer: 'json' | 'other' | undefined;
  /** Pings without a reply, and for how many rounds it is skipped. */
  pings: number;
  pause: number;
  readonly replied: Set<AskedCommand>;
  /** How often in a row it did not reply to what it had replied to before, though it replied to a ping. */
  readonly silences: Map<AskedCommand, number>;
  /** It does not reply to these. */
  readonly unanswered: Set<AskedCommand>;
  /** How often it got the commands that are sent once. */
  readonly asked: Map<OnceCommand, number>;
  /** Since when it has been up without a version, which its first heartbeat has; listened time. */
  unversionedMs: number | undefined;
  /** Kinds of refusals that were reported, with their commands. */
  readonly reported: Set<string>;
}

/** A mailbox without heartbeats may belong to a killed worker: it is no longer pinged. */
const PINGS_MAX = 3;
/** Rounds between pings of a worker that is up but does not reply: all its replies may fail. */
const PAUSE_MAX = 64;
/** A worker with unusable replies no longer gets the commands that are sent once. */
const ATTEMPTS_MAX = 3;
/** One that has replied before was busy, or its reply came too late; but not so often. */
const SILENCES_MAX = 3;
const UNVERSIONED_MS = 10_000;

export class AskedWorkers {
  readonly #rules: AskingRules;
  readonly #unansweredBy: InspectionMemory['unanswered'];
  readonly #known = new Map<string, Known>();
  /** Whose skipped commands were reported and no longer apply. */
  readonly #over = new Set<string>();

  constructor(rules: AskingRules, { unanswered }: Pick<InspectionMemory, 'unanswered'>) {
    this.#rules = rules;
    this.#unansweredBy = unanswered;
  }

  /**
   * What is known of others is forgotten.
   * @param mailboxes of all workers with remote control; undefined before the first command
   */
  refresh(up: readonly WorkerUp[], mailboxes: ReadonlySet<string> | undefined): void {
    const wereUp = new Set(this.#those(({ isUp }) => isUp));
    for (const known of this.#known.values()) known.isUp = false;
    const byName = Map.groupBy(up, ({ nodename }) => nodename);
    for (const [nodename, workers] of byName) {
      const processes = workers.map((worker) => worker.process);
      const before = this.#known.get(nodename);
      const isOther = before !== undefined && haveMore(processes, before.processes);
      const known = before === undefined || isOther ? this.#begin(nodename) : before;
      const versions = workers.map(({ version }) => version);
      // A new worker’s mailbox appears with the next result.
      const hasMailbox = mailboxes?.has(nodename) === true;
      Object.assign(known, { processes, isUp: true, hasMailbox, versions });
    }
    if (mailboxes === undefined) return;
    for (const nodename of mailboxes) if (!this.#known.has(nodename)) this.#begin(nodename);
    for (const [nodename, { isUp, processes }] of [...this.#known]) {
      if (isUp) continue;
      if (!mailboxes.has(nodename)) this.#forget(nodename);
      // A worker that is no longer up may have been killed, or be running without heartbeats.
      else if (wereUp.has(nodename)) Object.assign(this.#begin(nodename), { processes });
    }
  }

  /** Workers whose reply format is unknown. */
  unknown(): readonly string[] {
    return this.#those(
      ({ serializer, isUp, hasMailbox, pings }) =>
        serializer === undefined && ((isUp && hasMailbox) || pings < PINGS_MAX),
    );
  }

  /** Those of them that are pinged now; called once a round. */
  toPing(): readonly string[] {
    return this.unknown().filter((nodename) => {
      const known = this.#of(nodename);
      known.pause -= 1;
      return known.pause < 0;
    });
  }

  /** Workers that are up without heartbeats and get no other periodic command: a ping shows that they are alive. */
  withoutHeartbeats(): readonly string[] {
    return this.#those(
      (known) =>
        known.isUp &&
        known.hasMailbox &&
        known.serializer === 'json' &&
        versionsOf(known).every((version) => version === '') &&
        this.#rules.commands.every((each) => isOnce(each) || !this.#mayAsk(known, each)),
    );
  }

  /** Whether it may have permanently stopped listening. */
  mayBeDeaf(nodename: string): boolean {
    const known = this.#known.get(nodename);
    return (
      known?.hasMailbox === true &&
      versionsOf(known).some((version) => isAtLeast(version, FAILED_REPLY_HARMLESS_FROM) !== true)
    );
  }

  /** Workers that get this command now. */
  due(command: RoundCommand): readonly string[] {
    return this.#those((known) => {
      if (known.serializer === undefined) return false;
      // Its reply is the same text for all.
      if (command !== 'enable_events' && known.serializer !== 'json') return false;
      if (isOnce(command) && (known.asked.get(command) ?? 0) >= ATTEMPTS_MAX) return false;
      return this.#mayAsk(known, command);
    });
  }

  /** Whether the worker gets the command before others, because a failed reply may stop it. */
  isOnTrial(nodename: string, command: RoundCommand): boolean {
    const known = this.#of(nodename);
    const mayFail = versionsOf(known).some((version) => canFail(command, version));
    return this.#rules.canHarm && mayFail && !known.replied.has(command);
  }

  isForeign(nodename: string): boolean {
    return this.#known.get(nodename)?.serializer === 'other';
  }

  /** How many reply in a form that cannot be read. */
  get foreign(): number {
    return this.#those(({ serializer }) => serializer === 'other').length;
  }

  pinged(nodenames: readonly string[]): void {
    for (const nodename of nodenames) {
      const known = this.#of(nodename);
      known.pings += 1;
      known.pause = known.pings < PINGS_MAX ? 0 : Math.min(PAUSE_MAX, 2 ** (known.pings - PINGS_MAX + 1));
    }
  }

  /** It has replied to a ping, in a form that can be read or not. */
  replies(nodename: string, serializer: 'json' | 'other'): void {
    Object.assign(this.#of(nodename), { serializer, pings: 0, pause: 0 });
  }

  asked(command: OnceCommand, nodenames: readonly string[]): void {
    for (const nodename of nodenames) {
      const { asked } = this.#of(nodename);
      asked.set(command, (asked.get(command) ?? 0) + 1);
    }
  }

  done(command: OnceCommand, nodename: string): void {
    this.#of(nodename).asked.set(command, ATTEMPTS_MAX);
  }

  repliedTo(command: RoundCommand, nodename: string): void {
    const known = this.#of(nodename);
    known.replied.add(command);
    known.silences.delete(command);
  }

  /** It did not reply, and not to a ping since: it is busy, or worse, and is only pinged until it does. */
  isSilent(nodename: string): void {
    this.#of(nodename).serializer = undefined;
  }

  /**
   * It did not reply, but it did to a ping since: its reply has failed, if it has not just come too late.
   * @param hasLate whether such a reply came, which may be of another one
   */
  didNotReply(nodename: string, command: RoundCommand, hasLate: boolean): void {
    const known = this.#of(nodename);
    const silences = (known.silences.get(command) ?? 0) + 1;
    known.silences.set(command, silences);
    if ((hasLate || known.replied.has(command)) && silences < SILENCES_MAX) return;
    known.unanswered.add(command);
    for (const each of known.processes) {
      const commands = this.#unansweredBy.get(each) ?? new Set();
      this.#unansweredBy.set(each, commands.add(command));
    }
  }

  /** The skipped commands, once for each process. */
  *newRefusals(listenedMs: number): Iterable<Refusal> {
    for (const worker of this.#over) yield { worker, commands: [], why: { kind: 'over' } };
    this.#over.clear();
    for (const [nodename, known] of this.#known)
      for (const refusal of this.#refusals(nodename, known, listenedMs)) {
        const key = `${refusal.why.kind} ${refusal.commands.join(' ')}`;
        if (known.reported.has(key)) continue;
        known.reported.add(key);
        yield refusal;
      }
  }

  *#refusals(worker: string, known: Known, listenedMs: number): Iterable<Refusal> {
    const { commands } = this.#rules;
    if (known.serializer === 'other') {
      yield {
        worker,
        commands: commands.filter((each) => each !== 'enable_events'),
        why: { kind: 'serializer' },
      };
      return;
    }
    const unanswered = commands.filter((each) => this.#isUnanswered(known, each));
    if (unanswered.length > 0) yield { worker, commands: unanswered, why: { kind: 'unanswered' } };
    if (known.serializer === undefined) return;
    const harmful = commands.filter((each) => !this.#isAllowed(known, each));
    if (harmful.length === 0) return;
    const version = versionsOf(known).find((each) => harmful.some((command) => canHarm(command, each))) ?? '';
    known.unversionedMs ??= listenedMs;
    if (version === '' && listenedMs - known.unversionedMs < UNVERSIONED_MS) return;
    yield { worker, commands: harmful, why: { kind: 'version', version } };
  }

  #mayAsk(known: Known, command: RoundCommand): boolean {
    return this.#isAllowed(known, command) && !this.#isUnanswered(known, command);
  }

  #isAllowed(known: Known, command: RoundCommand): boolean {
    const { areNamed, canHarm: areEndangered } = this.#rules;
    return areNamed || !areEndangered || !versionsOf(known).some((version) => canHarm(command, version));
  }

  #isUnanswered({ unanswered, processes }: Known, command: RoundCommand): boolean {
    return (
      unanswered.has(command) || processes.some((each) => this.#unansweredBy.get(each)?.has(command) === true)
    );
  }

  #forget(nodename: string): void {
    if ((this.#known.get(nodename)?.reported.size ?? 0) > 0) this.#over.add(nodename);
    this.#known.delete(nodename);
  }

  #begin(nodename: string): Known {
    this.#forget(nodename);
    const known: Known = {
      processes: [],
      versions: [],
      isUp: false,
      hasMailbox: false,
      serializer: undefined,
      pings: 0,
      pause: 0,
      replied: new Set(),
      silences: new Map(),
      unanswered: new Set(),
      asked: new Map(),
      unversionedMs: undefined,
      reported: new Set(),
    };
    this.#known.set(nodename, known);
    return known;
  }

  #of(nodename: string): Known {
    return this.#known.get(nodename) ?? this.#begin(nodename);
  }

  #those(is: (known: Known) => boolean): readonly string[] {
    return [...this.#known].filter(([, known]) => is(known)).map(([nodename]) => nodename);
  }
}

function versionsOf({ versions }: Known): readonly string[] {
  return versions.length > 0 ? versions : [''];
}

/** Whether there is a new process. */
function haveMore(processes: readonly object[], known: readonly object[]): boolean {
  return known.length > 0 && processes.some((key) => !known.includes(key));
}
