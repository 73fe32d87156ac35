/**
 * Holds the facts about runs and sendings until they are reported, by place in the task table. It exists only if there is a
 * listener for finished runs. The task table bounds the number of entries; this file bounds their texts. It reports nothing.
 */
import type { ArgumentTexts, Lineage } from '../../celery/event.ts';
import type { Run } from '../../cluster/tasks/run.ts';
import { HeldNumbers } from '../../cluster/window/held-numbers.ts';
import {
  type RetrySent,
  RunFacts,
  runBytesOf,
  SENT_RECORD_BYTES,
  type SentRecord,
  type Texts,
  textBytesOf,
} from './run-facts.ts';
import { WorkerSpans } from './worker-spans.ts';

/** Sendings kept per task, one for each name. A task that replaces itself uses fewer. */
const SENDINGS_MAX = 4;
/** One entry in a list by place. */
const ENTRY_BYTES = 16;
/** Room for four sendings and three runs per task: one task may have eight runs, but the task table has room for three of each. */
const BYTES_PER_TASK = 1500;
const TEXT_BYTES_PER_TASK = 400;
const TEXT_BYTES_AT_LEAST = 1_048_576;

const NO_TEXTS: Texts = { lineage: undefined, arguments: undefined };

export class RunDetails {
  readonly #numbers = new HeldNumbers();
  /** By place: the newest run, and the newest sending, of a linked list. */
  readonly #runs: (RunFacts | undefined)[] = [];
  readonly #sendings: (SentRecord | undefined)[] = [];
  readonly workerSpans = new WorkerSpans();
  readonly #textBytesMax: number;
  #textBytes = 0;
  #recordBytes = 0;
  readonly bytesMax: number;
  #textsLeftOut = 0;

  constructor(tasksMax: number) {
    this.#textBytesMax = Math.max(tasksMax * TEXT_BYTES_PER_TASK, TEXT_BYTES_AT_LEAST);
    this.bytesMax = this.#textBytesMax + tasksMax * BYTES_PER_TASK + this.workerSpans.bytesMax;
  }

  /** Texts dropped for lack of room. */
  get textsLeftOut(): number {
    return this.#textsLeftOut + this.workerSpans.leftOut;
  }

  get bytes(): number {
    const entries = this.#runs.length + this.#sendings.length;
    return entries * ENTRY_BYTES + this.#recordBytes + this.#textBytes + this.workerSpans.bytes;
  }

  addRun(place: number, run: Run): RunFacts {
    const facts = new RunFacts(run, this.#numbers);
    this.#recordBytes += runBytesOf(facts);
    facts.next = this.#runs[place];
    put(this.#runs, place, facts);
    return facts;
  }

  addRetrySent(facts: RunFacts, retrySent: RetrySent): void {
    this.#recordBytes -= runBytesOf(facts);
    facts.retrySent = retrySent;
    this.#recordBytes += runBytesOf(facts);
  }

  runFacts(place: number, run: Run): RunFacts | undefined {
    let facts = this.#runs[place];
    while (facts !== undefined && facts.run !== run) facts = facts.next;
    return facts;
  }

  /** The oldest first. */
  runsOf(place: number): readonly RunFacts[] {
    const runs: RunFacts[] = [];
    for (let facts = this.#runs[place]; facts !== undefined; facts = facts.next) runs.unshift(facts);
    return runs;
  }

  removeRun(place: number, run: Run): void {
    const facts = this.runFacts(place, run);
    if (facts === undefined) return;
    let before = this.#runs[place];
    while (before !== undefined && before.next !== facts) before = before.next;
    if (before === undefined) this.#runs[place] = facts.next;
    else before.next = facts.next;
    this.#release(facts, runBytesOf(facts));
  }

  hasRoomForSending(place: number): boolean {
    let count = 0;
    for (let sent = this.#sendings[place]; sent !== undefined; sent = sent.next) count += 1;
    return count < SENDINGS_MAX;
  }

  addSending(place: number, sent: SentRecord): void {
    this.#recordBytes += SENT_RECORD_BYTES;
    sent.next = this.#sendings[place];
    put(this.#sendings, place, sent);
  }

  removeSending(place: number, sent: SentRecord): void {
    let before = this.#sendings[place];
    while (before !== undefined && before !== sent && before.next !== sent) before = before.next;
    if (before === undefined) return;
    if (before === sent) this.#sendings[place] = sent.next;
    else before.next = sent.next;
    this.#release(sent, SENT_RECORD_BYTES);
  }

  /** Removes the sendings that were received, but for this one. */
  removeReceived(place: number, current: SentRecord | undefined): void {
    for (let sent = this.#sendings[place]; sent !== undefined; sent = sent.next)
      if (sent.isReceived && sent !== current) this.removeSending(place, sent);
  }

  newestSending(place: number): SentRecord | undefined {
    return this.#sendings[place];
  }

  /** The sending of the task under that name: that of this time, else the newest. @param sentMs epoch ms */
  sending(place: number, name: string, sentMs?: number): SentRecord | undefined {
    let newest: SentRecord | undefined;
    for (let sent = this.#sendings[place]; sent !== undefined; sent = sent.next) {
      if (sent.name !== name) continue;
      if (sentMs === undefined || sent.sentMs === sentMs) return sent;
      newest ??= sent;
    }
    return newest;
  }

  /** The sending of a run, which may have arrived after the run began. */
  sendingOf(place: number, facts: RunFacts): SentRecord | undefined {
    // The sending of an earlier workflow is in another trace.
    const isOf = (sent: SentRecord) => sent.isAnew === (facts.first !== undefined);
    if (facts.sent !== undefined) return isOf(facts.sent) ? facts.sent : undefined;
    const name = facts.run.identity.task;
    let sent = this.#sendings[place];
    while (sent !== undefined && !(sent.runName === name && isOf(sent))) sent = sent.next;
    return sent;
  }

  /** Whether no run of this sending has begun, and it was not reported on its own. */
  isUnreceived(place: number, sent: SentRecord): boolean {
    if (sent.isReported) return false;
    for (let facts = this.#runs[place]; facts !== undefined; facts = facts.next)
      if (this.sendingOf(place, facts) === sent) return false;
    return true;
  }

  isEmpty(place: number): boolean {
    return this.#runs[place] === undefined && this.#sendings[place] === undefined;
  }

  forget(place: number): void {
    this.workerSpans.forget(place);
    if (this.isEmpty(place)) return;
    for (let facts = this.#runs[place]; facts !== undefined; facts = facts.next)
      this.#release(facts, runBytesOf(facts));
    for (let sent = this.#sendings[place]; sent !== undefined; sent = sent.next)
      this.#release(sent, SENT_RECORD_BYTES);
    this.#runs[place] = this.#sendings[place] = undefined;
  }

  /** The texts to keep. A run shares the lineage object of its sending. If there is no room, arguments are left out first. */
  kept(lineage: Lineage | undefined, texts?: ArgumentTexts, sent?: SentRecord): Texts {
    const both = { lineage: shared(lineage, sent?.lineage), arguments: texts };
    const bytes = textBytesOf(both);
    const left = this.#textBytesMax - this.#textBytes - bytes;
    if (texts === undefined ? left >= 0 : left >= this.#textBytesMax / 2) {
      this.#textBytes += bytes;
      return both;
    }
    this.#textsLeftOut += 1;
    return texts === undefined ? NO_TEXTS : this.kept(lineage, undefined, sent);
  }

  #release(record: Texts, bytes: number): void {
    this.#recordBytes -= bytes;
    this.#textBytes -= textBytesOf(record);
  }
}

/** Sets an item of the list. Gaps are filled with undefined, because a sparse array is slow. */
export function put<Item>(list: (Item | undefined)[], place: number, item: Item): void {
  while (list.length < place) list.push(undefined);
  list[place] = item;
}

function shared(own: Lineage | undefined, other: Lineage | undefined): Lineage | undefined {
  if (own === undefined || other === undefined) return own;
  return own.rootId === other.rootId && own.parentId === other.parentId ? other : own;
}
