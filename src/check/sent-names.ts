/** Finds names of tasks that were sent and have left their queue without an event from any worker. Bounded and pure. */
import type { QueueDepth } from '../broker/broker-reading.ts';
import type { TaskReceived, TaskSent } from '../celery/event.ts';
import { safeKey, textOf } from '../text/safe-key.ts';

/** How many names are tracked; a cluster has some hundreds. */
const NAMES_MAX = 1000;
/** With fewer tasks, all of them may be in transit. */
const LEFT_MIN = 3;

/** The tasks of one name. */
interface Sent {
  readonly queue: string;
  count: number;
  /** `count` at the latest poll of the queues, and at the poll before. */
  counted: number;
  countedBefore: number;
  isSeen: boolean;
}

export class SentNames {
  readonly #byName = new Map<string, Sent>();

  note({ type, name, ...event }: TaskSent | TaskReceived): void {
    const key = safeKey(name);
    let sent = this.#byName.get(key);
    if (sent === undefined) {
      if (name === '' || this.#byName.size >= NAMES_MAX) return;
      const queue = 'queue' in event ? event.queue : '';
      sent = { queue, count: 0, counted: 0, countedBefore: 0, isSeen: false };
      this.#byName.set(key, sent);
    }
    if (type === 'task-sent') sent.count += 1;
    else sent.isSeen = true;
  }

  /** Call it after each poll of the broker. */
  noteReading(): void {
    for (const sent of this.#byName.values()) {
      sent.countedBefore = sent.counted;
      sent.counted = sent.count;
    }
  }

  /** @param depths the queue lengths of the latest poll @returns the names of which no worker has sent an event */
  unseen(depths: readonly QueueDepth[]): readonly string[] {
    const lengths = new Map(depths.map(({ queue, length }) => [queue, length]));
    return [...this.#byName].flatMap(([key, { queue, countedBefore, isSeen }]) => {
      const length = lengths.get(queue) ?? Number.POSITIVE_INFINITY;
      return !isSeen && countedBefore - length >= LEFT_MIN ? [textOf(key)] : [];
    });
  }
}
