/**
 * Decides the trace of each task: that of its root, unless the task or a remembered ancestor begins a new one. A task whose
 * parent has another root also begins a new trace, since the span of its parent is in another trace. The trace is decided once
 * per task, at its first run or when its sending is reported on its own. After a restart of the bridge, ancestors are unknown,
 * and the trace of the root continues. It generates no trace ids.
 */
import type { Lineage } from '../../celery/event.ts';
import { hashOf } from '../../cluster/tasks/task-key.ts';
import type { Ancestry, FinishedListener } from './finished.ts';

/** The trace of a task that is not in the trace of its root. */
interface Cut {
  readonly rootId: string;
  readonly traceRootId: string;
  readonly beginsTrace: boolean;
  readonly parentTraceRootId: string;
}

/** A task at its first event, when its trace is decided. */
export interface Decided extends Lineage {
  readonly uuid: string;
  readonly name: string;
  /** The parent’s place in the task table, if it is there. */
  readonly parentAt: number | undefined;
  /** The root’s place in the task table, if it is there. */
  readonly rootAt: number | undefined;
  readonly atMs: number;
  readonly delayMs: number;
}

const CUT_BYTES = 250;

/** A root id that was not reported, or is all zeros, as from a producer without a trace. */
const NO_ROOT = /^(?:0{32}|0{8}(?:-0{4}){3}-0{12})?$/;

/** Values of `#hashes`. Any larger value is the hash of the root’s id. */
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

  /** Records that the task is its own root. */
  noteItself(at: number): void {
    if (!this.isDecided(at)) this.#note(at, ITSELF);
  }

  /**
   * Whether the task had another root before, because a program reused its id in another workflow. If so, the earlier
   * decision is discarded.
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

  /** Puts a task that is its own root into a trace of this sending. @param sending what differs from other sendings of the id */
  decideOwn(at: number, uuid: string, sending: string): void {
    if (this.isDecided(at)) return;
    this.#note(at, hashed(uuid));
    const traceRootId = `${uuid}/${sending}`;
    this.#cuts.set(at, { rootId: uuid, traceRootId, beginsTrace: false, parentTraceRootId: '' });
  }

  decide(at: number, task: Decided): void {
    this.#note(at, hashed(task.rootId || task.uuid));
    const { uuid, rootId, parentId, name, atMs, delayMs } = task;
    const hasParent = parentId !== '' && parentId !== uuid;
    if (NO_ROOT.test(rootId) && hasParent) {
      // The root is unknown, so each task has the trace of its own id, and the parent is in another trace.
      this.#cuts.set(at, { rootId, traceRootId: uuid, beginsTrace: true, parentTraceRootId: parentId });
      return;
    }
    if (!hasParent && (rootId === '' || rootId === uuid)) return;
    const traceRootId = this.above([task.parentAt, task.rootAt], rootId) ?? (rootId || uuid);
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

  /** The trace of the nearest of these tasks that has the root, and another trace than that of the root's id. */
  above(places: readonly (number | undefined)[], rootId: string): string | undefined {
    if (this.#cuts.size === 0) return undefined;
    for (const place of places) {
      const cut = place === undefined ? undefined : this.#cuts.get(place);
      if (cut?.rootId === rootId) return cut.traceRootId;
    }
    return undefined;
  }

  forget(at: number): void {
    if (at < this.#hashes.length) this.#hashes[at] = NOT_KNOWN;
    if (this.#cuts.size > 0) this.#cuts.delete(at);
  }

  /** Whether the parent is known to have another root. A task may set the root of the tasks that it sends. */
  #hasOtherRoot(parentAt: number | undefined, parentId: string, rootId: string): boolean {
    const known = parentAt === undefined ? NOT_KNOWN : (this.#hashes[parentAt] ?? NOT_KNOWN);
    if (known === NOT_KNOWN) return false;
    return known === ITSELF ? rootId !== parentId : hashed(rootId) !== known;
  }

  /** The id from which the trace of the task is derived; '' if only the hash of its root is known. */
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
