/** Says where events may have been missed: between two connections, and during one. It knows nothing of events. */
import type { ListenOptions } from './session-loop.ts';

/** What a listener calls where events may have been missed: when it was too slow, and when it is connected again. */
export function gapsOf(onGap: () => void): Required<Pick<ListenOptions, 'missed' | 'ready'>> {
  let wasReady = false;
  return {
    missed: onGap,
    ready() {
      if (wasReady) onGap();
      wasReady = true;
    },
  };
}
