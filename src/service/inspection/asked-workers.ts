/**
 * Tracks each worker that has remote control, and decides which commands it gets. A worker on Redis with kombu before
 * 5.7 that cannot encode its reply never consumes a task again; on any other broker it logs a traceback. So no command
 * is sent that could stop a worker, and a command that a worker did not answer is not repeated. Pure: it sends nothing.
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
  /** The commands of each round of inspection. */
  readonly commands: readonly RoundCommand[];
  /** Whether the user configured these commands, at their own risk, instead of `auto`. */
  readonly areConfigured: boolean;
  /** Whether a failed reply may stop a worker, as on Redis. */
  readonly canRepliesHarm: boolean;
}

/** The state of one nodename. */
interface KnownWorker {
  /** The processes with this nodename: none while unknown, several if workers share the name. */
  processes: readonly object[];
  /** The Celery version of each process; '' while unknown. */
  versions: readonly string[];
  isUp: boolean;
  /** Whether it has a control queue, as far as known. */
  hasMailbox: boolean;
  /** How it encodes replies; undefined until it replies. */
  serializer: 'json' | 'other' | undefined;
  /** How many pings in a row had no reply, and how many more rounds skip the ping. */
  pings: number;
  roundsToSkip: number;
  readonly replied: Set<AskedCommand>;
  /** For each command it had answered before: how often in a row it did not answer, though it answered a ping. */
  readonly silences: Map<AskedCommand, number>;
  /** The commands that it does not answer. */
  readonly unanswered: Set<AskedCommand>;
  /** How often it got each command that is sent once. */
  readonly asked: Map<OnceCommand, number>;
  /** When it was first seen without a version, in listened time; a first heartbeat has the version. */
  unversionedMs: number | undefined;
  /** Refusals that were reported: the kind and the commands. */
  readonly reported: Set<string>;
}

/**
 * A control queue without heartbeats may belong to a killed worker, which is not pinged again after this many pings.
 */
const PINGS_MAX = 3;
/** The most rounds between pings of a worker that is up but never replies: all its replies may fail. */
const ROUNDS_SKIPPED_MAX = 64;
/** After this many attempts, a worker with unusable replies no longer gets the commands that are sent once. */
const ATTEMPTS_MAX = 3;
/** A worker that answered before may be busy or too late, but not this often in a row. */
const SILENCES_MAX = 3;
/** How long to wait for the version of a worker before skipped commands are reported. */
const UNVERSIONED_MS = 10_000;

export class AskedWorkers {
  readonly #rules: AskingRules;
  readonly #unansweredBy: InspectionMemory['unanswered'];
  readonly #known = new Map<string, KnownWorker>();
  /** Workers whose skipped commands were reported and which are gone since. */
  readonly #goneAfterReport = new Set<string>();

  constructor(rules: AskingRules, { unanswered }: Pick<InspectionMemory, 'unanswered'>) {
    this.#rules = rules;
    this.#unansweredBy = unanswered;
  }

  /**
   * Updates which workers exist; workers that are not listed are forgotten.
   * @param up the workers with recent events
   * @param mailboxes the nodenames of all workers with remote control; undefined before the first command
   */
  refresh(up: readonly WorkerUp[], mailboxes: ReadonlySet<string> | undefined): void {
    const wereUp = new Set(this.#nodenamesWhere(({ isUp }) => isUp));
    for (const known of this.#known.values()) known.isUp = false;
    const byName = Map.groupBy(up, ({ nodename }) => nodename);
    for (const [nodename, workers] of byName) {
      const processes = workers.map((worker) => worker.process);
      const before = this.#known.get(nodename);
      const isOther = before !== undefined && haveMore(processes, before.processes);
      const known = before === undefined || isOther ? this.#begin(nodename) : before;
      const versions = workers.map(({ version }) => version);
      // The control queue of a new worker appears with the next result.
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

  /** Workers that have not replied yet. */
  unknown(): readonly string[] {
    return this.#nodenamesWhere(
      ({ serializer, isUp, hasMailbox, pings }) =>
        serializer === undefined && ((isUp && hasMailbox) || pings < PINGS_MAX),
    );
  }

  /** The workers without a reply that are pinged in this round. Call it once a round. */
  toPing(): readonly string[] {
    return this.unknown().filter((nodename) => {
      const known = this.#workerOf(nodename);
      known.roundsToSkip -= 1;
      return known.roundsToSkip < 0;
    });
  }

  /** Workers without heartbeats that get no other periodic command: a ping shows that they are alive. */
  withoutHeartbeats(): readonly string[] {
    return this.#nodenamesWhere(
      (known) =>
        known.isUp &&
        known.hasMailbox &&
        known.serializer === 'json' &&
        versionsOf(known).every((version) => version === '') &&
        this.#rules.commands.every((each) => isOnce(each) || !this.#mayAsk(known, each)),
    );
  }

  /** Whether this worker’s version can stop listening for good (“deaf”) after a failed reply. */
  mayBeDeaf(nodename: string): boolean {
    const known = this.#known.get(nodename);
    return (
      known?.hasMailbox === true &&
      versionsOf(known).some((version) => isAtLeast(version, FAILED_REPLY_HARMLESS_FROM) !== true)
    );
  }

  /** The workers that get this command now. */
  due(command: RoundCommand): readonly string[] {
    return this.#nodenamesWhere((known) => {
      if (known.serializer === undefined) return false;
      // The reply to `enable_events` needs no decoding: it is the same text for all workers.
      if (command !== 'enable_events' && known.serializer !== 'json') return false;
      if (isOnce(command) && (known.asked.get(command) ?? 0) >= ATTEMPTS_MAX) return false;
      return this.#mayAsk(known, command);
    });
  }

  /** Whether this worker must get the command alone, before others, because a failed reply may stop it. */
  isOnTrial(nodename: string, command: RoundCommand): boolean {
    const known = this.#workerOf(nodename);
    const mayFail = versionsOf(known).some((version) => canFail(command, version));
    return this.#rules.canRepliesHarm && mayFail && !known.replied.has(command);
  }

  /** Whether its replies are encoded in a form that cannot be read. */
  isForeign(nodename: string): boolean {
    return this.#known.get(nodename)?.serializer === 'other';
  }

  /** How many workers encode their replies in a form that cannot be read. */
  get foreign(): number {
    return this.#nodenamesWhere(({ serializer }) => serializer === 'other').length;
  }

  notePinged(nodenames: readonly string[]): void {
    for (const nodename of nodenames) {
      const known = this.#workerOf(nodename);
      known.pings += 1;
      known.roundsToSkip =
        known.pings < PINGS_MAX ? 0 : Math.min(ROUNDS_SKIPPED_MAX, 2 ** (known.pings - PINGS_MAX + 1));
    }
  }

  /** The worker has replied to a ping, in a readable form (`json`) or not (`other`). */
  noteSerializer(nodename: string, serializer: 'json' | 'other'): void {
    Object.assign(this.#workerOf(nodename), { serializer, pings: 0, roundsToSkip: 0 });
  }

  noteAsked(command: OnceCommand, nodenames: readonly string[]): void {
    for (const nodename of nodenames) {
      const { asked } = this.#workerOf(nodename);
      asked.set(command, (asked.get(command) ?? 0) + 1);
    }
  }

  noteDone(command: OnceCommand, nodename: string): void {
    this.#workerOf(nodename).asked.set(command, ATTEMPTS_MAX);
  }

  noteAnswer(command: RoundCommand, nodename: string): void {
    const known = this.#workerOf(nodename);
    known.replied.add(command);
    known.silences.delete(command);
  }

  /** The worker answered neither the command nor a later ping: it may be busy, and is only pinged until it replies. */
  noteSilence(nodename: string): void {
    this.#workerOf(nodename).serializer = undefined;
  }

  /**
   * The worker did not answer the command but answered a later ping: its reply failed, or came too late.
   * @param hasLate whether a late reply came, perhaps from another worker
   */
  noteNoAnswer(nodename: string, command: RoundCommand, hasLate: boolean): void {
    const known = this.#workerOf(nodename);
    const silences = (known.silences.get(command) ?? 0) + 1;
    known.silences.set(command, silences);
    if ((hasLate || known.replied.has(command)) && silences < SILENCES_MAX) return;
    known.unanswered.add(command);
    for (const each of known.processes) {
      const commands = this.#unansweredBy.get(each) ?? new Set();
      this.#unansweredBy.set(each, commands.add(command));
    }
  }

  /** The commands that are skipped, once for each process and reason. */
  *newRefusals(listenedMs: number): Iterable<Refusal> {
    for (const worker of this.#goneAfterReport) yield { worker, commands: [], why: { kind: 'over' } };
    this.#goneAfterReport.clear();
    for (const [nodename, known] of this.#known)
      for (const refusal of this.#refusals(nodename, known, listenedMs)) {
        const key = `${refusal.why.kind} ${refusal.commands.join(' ')}`;
        if (known.reported.has(key)) continue;
        known.reported.add(key);
        yield refusal;
      }
  }

  *#refusals(worker: string, known: KnownWorker, listenedMs: number): Iterable<Refusal> {
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

  #mayAsk(known: KnownWorker, command: RoundCommand): boolean {
    return this.#isAllowed(known, command) && !this.#isUnanswered(known, command);
  }

  #isAllowed(known: KnownWorker, command: RoundCommand): boolean {
    const { areConfigured, canRepliesHarm } = this.#rules;
    return (
      areConfigured || !canRepliesHarm || !versionsOf(known).some((version) => canHarm(command, version))
    );
  }

  #isUnanswered({ unanswered, processes }: KnownWorker, command: RoundCommand): boolean {
    return (
      unanswered.has(command) || processes.some((each) => this.#unansweredBy.get(each)?.has(command) === true)
    );
  }

  #forget(nodename: string): void {
    if ((this.#known.get(nodename)?.reported.size ?? 0) > 0) this.#goneAfterReport.add(nodename);
    this.#known.delete(nodename);
  }

  #begin(nodename: string): KnownWorker {
    this.#forget(nodename);
    const known: KnownWorker = {
      processes: [],
      versions: [],
      isUp: false,
      hasMailbox: false,
      serializer: undefined,
      pings: 0,
      roundsToSkip: 0,
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

  #workerOf(nodename: string): KnownWorker {
    return this.#known.get(nodename) ?? this.#begin(nodename);
  }

  #nodenamesWhere(is: (known: KnownWorker) => boolean): readonly string[] {
    return [...this.#known].filter(([, known]) => is(known)).map(([nodename]) => nodename);
  }
}

function versionsOf({ versions }: KnownWorker): readonly string[] {
  return versions.length > 0 ? versions : [''];
}

/** Whether a process is new. */
function haveMore(processes: readonly object[], known: readonly object[]): boolean {
  return known.length > 0 && processes.some((key) => !known.includes(key));
}
