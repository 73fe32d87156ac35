/**
 * The records of runs and sendings that are kept until they are reported to a listener of finished runs. They hold data and
 * decide nothing.
 */
import type { ArgumentTexts, Lineage } from '../../celery/event.ts';
import { CHARACTER_BYTES } from '../../cluster/measured-bytes.ts';
import type { Run } from '../../cluster/tasks/run.ts';
import { type HeldNumbers, known } from '../../cluster/window/held-numbers.ts';
import { type Begun, NO_PLACE, type Placed } from './run-places.ts';

/** Measured, without texts; of the sending of a retry: its fields, by the sizes of V8. */
const RUN_FACTS_BYTES = 176;
const RETRY_SENT_BYTES = 40;
export const SENT_RECORD_BYTES = 158;

/** The texts of a run or a sending. */
export type Texts = Pick<RunFacts, 'lineage' | 'arguments'>;

/** The first `task-sent` of a task with that name, without retries. */
export class SentRecord {
  readonly name: string;
  readonly queue: string;
  readonly exchange: string;
  /** Without the bits of native delayed delivery. */
  readonly routingKey: string;
  readonly sender: string;
  readonly lineage: Lineage | undefined;
  readonly arguments: ArgumentTexts | undefined;
  /** Epoch ms; undefined if implausible. */
  readonly sentMs: number | undefined;
  readonly etaMs: number | undefined;
  readonly expiresMs: number | undefined;
  /** The name of its runs. It differs from `name` for a shadow name, which only workers report. */
  runName: string;
  isReported = false;
  /** Whether a run of it has begun. */
  isReceived = false;
  /** Whether the id had been used before, for another task. */
  isAnew = false;
  /** The id of the trace in which its receipt is awaited; undefined if it is not. */
  openIn: string | undefined = undefined;
  next: SentRecord | undefined = undefined;

  constructor(
    of: Omit<
      SentRecord,
      keyof Texts | 'runName' | 'isReported' | 'isReceived' | 'isAnew' | 'openIn' | 'next' | 'isDelayed'
    >,
    { lineage, arguments: texts }: Texts,
  ) {
    this.name = this.runName = of.name;
    this.queue = of.queue;
    this.exchange = of.exchange;
    this.routingKey = of.routingKey;
    this.sender = of.sender;
    this.lineage = lineage;
    this.arguments = texts;
    this.sentMs = of.sentMs;
    this.etaMs = of.etaMs;
    this.expiresMs = of.expiresMs;
  }

  /** Whether the ETA is so far that the sending is reported before its run. */
  isDelayed(delayMaxMs: number): boolean {
    return this.sentMs !== undefined && this.etaMs !== undefined && this.etaMs - this.sentMs > delayMaxMs;
  }
}

/** The `task-sent` of a retry. */
export interface RetrySent {
  readonly sender: string;
  /** Epoch ms; undefined if implausible. */
  readonly sentMs: number | undefined;
}

const RECEIVED = 0;
const QUEUE_TIME = 1;
const WAIT_TIME = 2;
const PREFETCH_TIME = 3;
const DOUBTED = 4;
const PLACE = 5;
const PARENT = 6;
const PREVIOUS = 7;

/** The facts about a run that `Run` does not hold. */
export class RunFacts {
  readonly run: Run;
  lineage: Lineage | undefined = undefined;
  arguments: ArgumentTexts | undefined = undefined;
  /** Its sending, if known. */
  sent: SentRecord | undefined = undefined;
  /** Its own `task-sent` if it is a retry, if known. */
  retrySent: RetrySent | undefined = undefined;
  /** The first run of the task in this workflow, if its id was sent earlier in another one. */
  first: Placed | undefined = undefined;
  isReported = false;
  /** Whether it is certain that it is over, although no end was reported. */
  isOver = false;
  /** The id of the trace in which it is open; undefined if it is not. */
  openIn: string | undefined = undefined;
  isParentUnknown = false;
  next: RunFacts | undefined = undefined;
  readonly #numbers: Float64Array;
  readonly #from: number;

  constructor(run: Run, numbers: HeldNumbers) {
    this.run = run;
    numbers.makeRoom();
    this.#numbers = numbers.chunk;
    this.#from = numbers.from;
  }

  /** Epoch ms. Unknown numbers are stored as NaN. */
  get receivedMs(): number | undefined {
    return known(this.#numbers[this.#from + RECEIVED]);
  }
  get queueTimeS(): number | undefined {
    return known(this.#numbers[this.#from + QUEUE_TIME]);
  }
  get waitTimeS(): number | undefined {
    return known(this.#numbers[this.#from + WAIT_TIME]);
  }
  get prefetchTimeS(): number | undefined {
    return known(this.#numbers[this.#from + PREFETCH_TIME]);
  }

  received(receivedMs: number | undefined, queueTimeS: number | undefined): void {
    this.#numbers[this.#from + RECEIVED] = receivedMs ?? Number.NaN;
    this.#numbers[this.#from + QUEUE_TIME] = queueTimeS ?? Number.NaN;
  }

  started(waitTimeS: number | undefined, prefetchTimeS: number | undefined): void {
    this.#numbers[this.#from + WAIT_TIME] = waitTimeS ?? Number.NaN;
    this.#numbers[this.#from + PREFETCH_TIME] = prefetchTimeS ?? Number.NaN;
  }

  /** When its end began to be doubted, epoch ms. */
  get doubtedMs(): number | undefined {
    return known(this.#numbers[this.#from + DOUBTED]);
  }
  set doubtedMs(doubtedMs: number) {
    this.#numbers[this.#from + DOUBTED] = doubtedMs;
  }

  get place(): Placed {
    return this.#numbers[this.#from + PLACE] ?? NO_PLACE;
  }
  get parentPlace(): Placed {
    return this.#numbers[this.#from + PARENT] ?? NO_PLACE;
  }
  /** `NO_PLACE` if there is none. */
  get previous(): Placed {
    return this.#numbers[this.#from + PREVIOUS] ?? NO_PLACE;
  }

  placed({ place, previous, first }: Begun, parentPlace: Placed): void {
    this.first = first;
    this.#numbers[this.#from + PLACE] = place;
    this.#numbers[this.#from + PARENT] = parentPlace;
    this.#numbers[this.#from + PREVIOUS] = previous;
  }
}

/** The size in memory, without texts. */
export function runBytesOf({ retrySent }: RunFacts): number {
  return RUN_FACTS_BYTES + (retrySent === undefined ? 0 : RETRY_SENT_BYTES);
}

/** The size of the texts in memory. */
export function textBytesOf({ lineage, arguments: texts }: Texts): number {
  const characters =
    (lineage === undefined ? 0 : lineage.rootId.length + lineage.parentId.length) +
    (texts === undefined ? 0 : texts.args.length + texts.kwargs.length);
  return CHARACTER_BYTES * characters;
}
