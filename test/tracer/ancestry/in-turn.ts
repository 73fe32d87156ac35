/** Stories of events that follow one another at once. */
import type { CeleryEvent } from '../../../src/celery/event.ts';
import type { Story } from '../../cluster/listening.ts';

/** Events a millisecond apart, from that time on. */
export function inTurn(atMs: number, ...events: readonly CeleryEvent[]): Story {
  return events.map((event, index) => [atMs + index, event]);
}
