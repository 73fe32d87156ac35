/**
 * In which trace each task is: that of its root, unless the task itself or an ancestor that is still remembered begins one of
 * its own. One whose parent has another root is the first of its trace, too: the span of its parent is in another one. It is
 * decided once per task, at its first run or when its sending is reported alone. After a restart of the bridge
 * ancestors are not known, and the trace of the root goes on. It makes no ids of traces.
 */
import type { Lineage } from '../../celery/event.ts';
import { hashOf } from '../../cluster/tasks/task-key.ts';
import type { Ancestry, FinishedListener } from './finished.ts';

/** Of a task that is not in the trace of its root. */
interface Cut {
  readonly rootId: string;
  readonly traceRootId: string;
  readonly beginsTrace: boolean;
  readonly parentTraceRootId: string;
}

/** A task at its first event. */
export interface Decided extends Lineage {
  readonly uuid: string;
  readonly name: string;
  /** Of its parent in the task table, if it is there. */
  readonly parentAt: number | undefined;
  readonly atMs: number;
  readonly delayMs: number;
}

const CUT_BYTES = 250;

/** Not reported, or a uuid of zeros, as of a producer that was in no trace. */
const NO_ROOT = /^(?:0{32}|0{8}(?:-0{4}){3}-0{12})?$/;

/** What is remembered of the root of each task: that it is the task itself, or the hash of its id, which is larger. */
const NOT_KNOWN = 0;
const ITSELF = 1;

export class TraceRoots {
  readonly #listener: Pick<FinishedListener, 'beginsTrace'>;
  /** By place in the task table. */
  readonly #cuts = new Map<number, Cut>();
  #hashes = new Uint32Array(1024);

  constructor(listener: Pick<FinishedListener, 'beginsTrace'>) {
    this.#listener = listener;
  }

  get bytes(): number {
    return this.#cuts.size * CUT_BYTES + this.#hashes.byteLength;
  }

  isDecided(at: number): boolean {
    return (this.#hashes[at] ?? NOT_KNOWN) > ITSELF;
  }

  /** The task is its own root. */
  noteItself(at: number): void {
    if (!this.isDecided(at)) this.#note(at, ITSELF);
  }

  /**
   * Whether the task had another root before: a program may send an id again, in another workflow. Then what was decided holds
   * no more, and is forgotten.
   */
  isSentAnew(at: number, lineage: Lineage | undefined, uuid: () => string): boolean {
    const known = this.#hashes[at] ?? NOT_KNOWN;
    if (known === NOT_KNOWN || lineage === undefined) return false;
    const { rootId } = lineage;
    if (known === ITSELF && rootId === '') return false;
    const root = rootId || uuid();
    if (known === ITSELF ? root === uuid() : hashed(root) === known) return false;
    this.forget(at);
    return true;
  }

  decide(at: number, task: Decided): void {
    this.#note(at, hashed(task.rootId || task.uuid));
    const { uuid, rootId, parentId, name, atMs, delayMs } = task;
    const hasParent = parentId !== '' && parentId !== uuid;
    if (NO_ROOT.test(rootId) && hasParent) {
      // Its parent is in another trace, since theirs is not known: each is in that of its own id.
      this.#cuts.set(at, { rootId, traceRootId: uuid, beginsTrace: true, parentTraceRootId: parentId });
      return;
    }
    if (!hasParent && (rootId === '' || rootId === uuid)) return;
    const ofParent = task.parentAt === undefined ? undefined : this.#cuts.get(task.parentAt);
    const traceRootId = ofParent?.rootId === rootId ? ofParent.traceRootId : rootId || uuid;
    const isElsewhere = hasParent && this.#hasOtherRoot(task.parentAt, parentId, rootId);
    const beginsTrace = this.#listener.beginsTrace({ name, traceRootId, delayMs, atMs });
    if (!(beginsTrace || isElsewhere) && traceRootId === rootId) return;
    this.#cuts.set(at, {
      rootId,
      traceRootId: beginsTrace ? uuid : traceRootId,
      beginsTrace: beginsTrace || isElsewhere,
      parentTraceRootId: isElsewhere ? this.#traceOf(task.parentAt, parentId) : traceRootId,
    });
  }

  of(
    at: number,
    uuid: string,
    rootId: string,
  ): Pick<Ancestry, 'traceRootId' | 'beginsTrace' | 'parentTraceRootId'> {
    const cut = this.#cuts.size === 0 ? undefined : this.#cuts.get(at);
    if (cut === undefined) return { traceRootId: rootId || uuid, beginsTrace: false };
    const { traceRootId, beginsTrace, parentTraceRootId } = cut;
    const isElsewhere = beginsTrace && parentTraceRootId !== rootId;
    return { traceRootId, beginsTrace, ...(isElsewhere && { parentTraceRootId }) };
  }

  forget(at: number): void {
    if (at < this.#hashes.length) this.#hashes[at] = NOT_KNOWN;
    if (this.#cuts.size > 0) this.#cuts.delete(at);
  }

  /** Whether the parent is known to have another root, as where a task gives a root to what it sends. */
  #hasOtherRoot(parentAt: number | undefined, parentId: string, rootId: string): boolean {
    const known = parentAt === undefined ? NOT_KNOWN : (this.#hashes[parentAt] ?? NOT_KNOWN);
    if (known === NOT_KNOWN) return false;
    return known === ITSELF ? rootId !== parentId : hashed(rootId) !== known;
  }

  /** '' if only the hash of its root is known. */
  #traceOf(at: number | undefined, uuid: string): string {
    if (at === undefined) return '';
    return this.#cuts.get(at)?.traceRootId ?? (this.#hashes[at] === ITSELF ? uuid : '');
  }

  #note(at: number, hash: number): void {
    if (at >= this.#hashes.length) {
      const longer = new Uint32Array(Math.max(at + 1, 2 * this.#hashes.length));
      longer.set(this.#hashes);
      this.#hashes = longer;
    }
    this.#hashes[at] = hash;
  }
}

function hashed(rootId: string): number {
  return Math.max(hashOf(rootId) >>> 0, ITSELF + 1);
}
