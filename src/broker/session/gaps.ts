/** Reports where events may have been missed: between two connections, and during one. It does not read events. */
import type { ListenOptions } from './session-loop.ts';

/** Called by a listener where events may have been missed: when it was too slow, and after a reconnect. */
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
