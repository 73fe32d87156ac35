/**
 * Decides which names are task queues, and how many of them are polled. Celery’s internal queues are never polled: polling
 * would keep abandoned ones alive.
 */

/** The most queues per poll. */
export const QUEUES_PER_POLL_MAX = 1000;

/** The longest name of a queue, in characters: the same limit as for names in events. */
const NAME_CHARS_MAX = 255;

/** Celery’s internal queues: for events, for remote control and for its replies. */
const OWN_QUEUE = /^celeryev(?:\.|$)|\.pidbox$/u;

export function isTaskQueue(name: string): boolean {
  return name !== '' && name.length <= NAME_CHARS_MAX && !OWN_QUEUE.test(name);
}

/** The task queues among the names, each once and in order, and a message if there are too many. */
export function queuesToPoll(names: Iterable<string>) {
  const all = [...new Set(names)].filter(isTaskQueue);
  const beyond = all.length - QUEUES_PER_POLL_MAX;
  return {
    queues: all.slice(0, QUEUES_PER_POLL_MAX),
    incomplete: beyond > 0 ? [`${beyond} queues are not polled: at most ${QUEUES_PER_POLL_MAX} are`] : [],
  };
}
