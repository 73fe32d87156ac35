/**
 * Which names are task queues, and how many of them are polled. Celery’s internal queues never are: polling would keep
 * abandoned ones alive.
 */

/** The most queues per poll. */
export const QUEUES_PER_POLL_MAX = 1000;

/** The same limit as for names in events. */
const NAME_CHARS_MAX = 255;

/** Queues of events, remote control and its replies. */
const OWN_QUEUE = /^celeryev(?:\.|$)|\.pidbox$/u;

export function isTaskQueue(name: string): boolean {
  return name !== '' && name.length <= NAME_CHARS_MAX && !OWN_QUEUE.test(name);
}

/** Each name once, in order, and a message if there are too many. */
export function queuesToPoll(names: Iterable<string>) {
  const all = [...new Set(names)].filter(isTaskQueue);
  const beyond = all.length - QUEUES_PER_POLL_MAX;
  return {
    queues: all.slice(0, QUEUES_PER_POLL_MAX),
    incomplete: beyond > 0 ? [`${beyond} queues are not polled: at most ${QUEUES_PER_POLL_MAX} are`] : [],
  };
}
