/**
 * What each worker has shown, and so which questions cannot stop it. A worker on Redis with kombu before 5.7 that cannot encode its reply
 * never consumes a task again, so what is not proven is not asked. Pure: it asks nothing.
 */
import type { OnceCommand, RoundCommand } from '../broker/control/asked-commands.ts';
import type { WorkerSettings } from '../celery/worker-settings.ts';
import type { WorkerUp } from '../cluster/answers.ts';
import type { SelfEvent } from '../self/self-event.ts';

export type Refusal = Omit<SelfEvent<'question-withheld'>, 'kind' | 'service'>;

/** What one worker has shown. */
interface Shown {
  /** Empty as long as it is not known which they are; more than one if several have its name. */
  processes: readonly object[];
  version: string;
  isUp: boolean;
  /** It can be asked, as far as that is known. */
  hasMailbox: boolean;
  /** In which form it replies. */
  serializer: 'json' | 'other' | undefined;
  settings: WorkerSettings | undefined;
  /** Pings without an answer. */
  pings: number;
  hasToldStats: boolean;
  /** How often it was asked what is asked once. */
  readonly asked: Map<OnceCommand, number>;
  /** Its refusals that were reported. */
  readonly reported: Set<Refusal['command']>;
}

/** A mailbox whose worker sends no heartbeats may be that of one that was killed: it is not pinged any more. */
const PINGS_MAX = 3;
/** One that does not reply is not asked any more what is asked once. */
const ATTEMPTS_MAX = 3;
/** The arguments of tasks come as they are: their reply may fail (Celery: worker/control.py, `active`). */
const RAW_ARGUMENTS = /^5\.[01](?:\.|$)/u;
const NUMBERED = /^\d+\.\d+/u;

export class Evidence {
  readonly #shown = new Map<string, Shown>();

  /**
   * What is known of others is forgotten.
   * @param mailboxes of all that can be asked; undefined before the first question
   */
  refresh(up: readonly WorkerUp[], mailboxes: ReadonlySet<string> | undefined): void {
    for (const shown of this.#shown.values()) shown.isUp = false;
    const byName = Map.groupBy(up, ({ nodename }) => nodename);
    for (const [nodename, workers] of byName) {
      const processes = workers.map((worker) => worker.process);
      const known = this.#shown.get(nodename);
      const isOther = known !== undefined && haveMore(processes, known.processes);
      const shown = known === undefined || isOther ? this.#begin(nodename) : known;
      const versions = workers.map(({ version }) => version);
      const version = versions.find((each) => RAW_ARGUMENTS.test(each)) ?? versions[0] ?? '';
      // That of a new worker shows with the next answer.
      const hasMailbox = mailboxes?.has(nodename) === true;
      Object.assign(shown, { processes, isUp: true, hasMailbox, version });
    }
    if (mailboxes === undefined) return;
    for (const nodename of mailboxes) if (!this.#shown.has(nodename)) this.#begin(nodename);
    for (const [nodename, { isUp, processes }] of this.#shown) {
      if (isUp) continue;
      // One that was up, and is not any more, may have been killed.
      if (!mailboxes.has(nodename)) this.#shown.delete(nodename);
      else if (processes.length > 0) this.#begin(nodename);
    }
  }

  /** Those of which it is not known in which form they reply. */
  unknown(): readonly string[] {
    return this.#those(
      ({ serializer, isUp, hasMailbox, pings }) =>
        serializer === undefined && ((isUp && hasMailbox) || pings < PINGS_MAX),
    );
  }

  /** Those whose settings are not known, and would be safe to ask for. */
  unsettled(): readonly string[] {
    return this.#those(({ serializer, settings }) => serializer === 'json' && settings === undefined);
  }

  /** Those that can answer. */
  able(command: RoundCommand): readonly string[] {
    return this.#those((shown) => isProven(shown, command));
  }

  /** Those of them that are still to be asked what is asked once. */
  due(command: OnceCommand): readonly string[] {
    return this.#those((shown) => isProven(shown, command) && (shown.asked.get(command) ?? 0) < ATTEMPTS_MAX);
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

  hasToldStats(nodename: string): boolean {
    return this.#shown.get(nodename)?.hasToldStats === true;
  }

  isForeign(nodename: string): boolean {
    return this.#shown.get(nodename)?.serializer === 'other';
  }

  pinged(nodenames: readonly string[]): void {
    for (const nodename of nodenames) this.#of(nodename).pings += 1;
  }

  /** It has replied, in a form that can be read or not. */
  replies(nodename: string, serializer: 'json' | 'other'): void {
    Object.assign(this.#of(nodename), { serializer, pings: 0 });
  }

  settings(nodename: string, settings: WorkerSettings): void {
    this.#of(nodename).settings = settings;
  }

  toldStats(nodename: string): void {
    this.#of(nodename).hasToldStats = true;
  }

  /** What is not asked, once for each process. */
  *newRefusals(): Iterable<Refusal> {
    for (const [nodename, shown] of this.#shown)
      for (const refusal of refusals(nodename, shown)) {
        if (shown.reported.has(refusal.command)) continue;
        shown.reported.add(refusal.command);
        yield refusal;
      }
  }

  #begin(nodename: string): Shown {
    const shown: Shown = {
      ...{
        processes: [],
        version: '',
        isUp: false,
        hasMailbox: false,
        serializer: undefined,
        settings: undefined,
      },
      ...{ pings: 0, hasToldStats: false, asked: new Map(), reported: new Set() },
    };
    this.#shown.set(nodename, shown);
    return shown;
  }

  #of(nodename: string): Shown {
    return this.#shown.get(nodename) ?? this.#begin(nodename);
  }

  #those(is: (shown: Shown) => boolean): readonly string[] {
    return [...this.#shown].filter(([, shown]) => is(shown)).map(([nodename]) => nodename);
  }
}

/** Whether there is a process that was not known. */
function haveMore(processes: readonly object[], known: readonly object[]): boolean {
  return known.length > 0 && processes.some((key) => !known.includes(key));
}

function isProven({ serializer, settings, version }: Shown, command: RoundCommand): boolean {
  // Its reply is the same text for all.
  if (command === 'enable_events') return serializer !== undefined;
  if (serializer !== 'json') return false;
  switch (command) {
    case 'stats':
      return settings !== undefined && settings.unencodable === undefined;
    case 'active':
      return settings?.isRecent === true || (NUMBERED.test(version) && !RAW_ARGUMENTS.test(version));
    default:
      return true;
  }
}

function refusals(nodename: string, { serializer, settings, version }: Shown): readonly Refusal[] {
  if (serializer === 'other') return [{ worker: nodename, command: 'anything', why: { kind: 'serializer' } }];
  const path = settings?.unencodable;
  return [
    ...(path === undefined
      ? []
      : [{ worker: nodename, command: 'stats' as const, why: { kind: 'setting' as const, path } }]),
    ...(RAW_ARGUMENTS.test(version)
      ? [{ worker: nodename, command: 'active' as const, why: { kind: 'version' as const, version } }]
      : []),
  ];
}
