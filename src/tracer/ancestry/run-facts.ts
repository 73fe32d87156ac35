/**
 * What is kept of runs and sendings if there is a listener for finished runs, to be reported when they are over. It
 * holds data and decides nothing.
 */
import type { ArgumentTexts, Lineage } from '../../celery/event.ts';
import { CHARACTER_BYTES } from '../../cluster/measured-bytes.ts';
import type { Run } from '../../cluster/tasks/run.ts';
import { type HeldNumbers, known } from '../../cluster/window/held-numbers.ts';
import { type Begun, NO_PLACE, type Placed } from './run-places.ts';

/** Measured, without texts. */
export const RUN_FACTS_BYTES = 160;
export const SENT_RECORD_BYTES = 150;

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
  /** The name of its runs: only workers know a shadow name. */
  runName: string;
  isReported = false;
  next: SentRecord | undefined = undefined;

  constructor(
    of: Omit<SentRecord, keyof Texts | 'runName' | 'isReported' | 'next' | 'isDelayed'>,
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

  /** Whether its run comes much later. */
  isDelayed(delayMaxMs: number): boolean {
    return this.sentMs !== undefined && this.etaMs !== undefined && this.etaMs - this.sentMs > delayMaxMs;
  }
}

const RECEIVED = 0;
const QUEUE_TIME = 1;
const WAIT_TIME = 2;
const PREFETCH_TIME = 3;
const DOUBTED = 4;
const PLACE = 5;
const PARENT = 6;
const PREVIOUS = 7;

/** What is known of a run beyond the `Run` itself. */
export class RunFacts {
  readonly run: Run;
  lineage: Lineage | undefined = undefined;
  arguments: ArgumentTexts | undefined = undefined;
  /** Its sending, if known. */
  sent: SentRecord | undefined = undefined;
  /** The first run of the task in this workflow, if its id was sent earlier in another one. */
  first: Placed | undefined = undefined;
  isReported = false;
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

  /** Epoch ms; NaN if unknown, as for all these numbers. */
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

/** Of its texts. */
export function textBytesOf({ lineage, arguments: texts }: Texts): number {
  const characters =
    (lineage === undefined ? 0 : lineage.rootId.length + lineage.parentId.length) +
    (texts === undefined ? 0 : texts.args.length + texts.kwargs.length);
  return CHARACTER_BYTES * characters;
}
