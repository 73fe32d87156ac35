/** Reports gaps, in which events may have been missed: between two connections, or during one. It does not read events. */
import type { ListenOptions } from './session-loop.ts';

/** The callbacks of a listener that report a gap: when it was too slow, and after a reconnect. */
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
