/** What a restart costs after many starts: one message may tell of a hundred. */
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { normalMs } from '../processor-time.ts';
import { signal, started, T0_MS, watch } from './events.ts';

const STARTS = 200_000;
const RESTARTS = 125;
const CPU_MS_MAX = 50;

test('a hundred restarts in one message take no longer after many starts', (t) => {
  const { cluster } = watch({ tasksMax: 1_000 });
  const timestampMs = T0_MS + 1_000;
  for (let clock = 1; clock <= STARTS; clock += 1) {
    cluster.apply(started({ uuid: `u${clock % 500}`, clock, timestampMs }), T0_MS + clock / 50);
  }
  const nowMs = T0_MS + STARTS / 50;
  const cpuMs = normalMs(() => {
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const clock = STARTS + 2 * restart;
      // Earlier than the starts, so that these seem to be the new process's.
      const at = T0_MS + 0.8 * restart;
      cluster.apply(signal('worker-heartbeat', { clock, timestampMs: at, processed: 10 }), nowMs);
      cluster.apply(
        signal('worker-online', { clock: clock + 1, timestampMs: at + 0.4, processed: 5 }),
        nowMs,
      );
    }
  });
  bound(t, 'a hundred restarts in one message after many starts', cpuMs, CPU_MS_MAX, 'ms');
});
