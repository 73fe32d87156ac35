/**
 * Looks at the process that the bridge runs in: its CPU time, its memory, and how late its event loop is. It neither
 * changes the process nor keeps it alive, and what becomes of its readings is not known here.
 */
import { randomUUID } from 'node:crypto';
import { createHistogram, performance } from 'node:perf_hooks';
import type { EventLoopDelay, ProcessReading } from '../meter/self-readings.ts';

export interface ProcessWatch {
  /** Random, another for each watch: tells one bridge from another. */
  readonly instanceId: string;
  /** What is so now, and what was since the reading before. */
  read(): ProcessReading;
  /** Takes no more samples. */
  close(): void;
}

/** Begins to take samples of the event loop. */
export function watchProcess(): ProcessWatch {
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  const eventLoop = sampleEventLoop();
  return {
    instanceId: randomUUID(),
    read() {
      const { user, system } = process.cpuUsage(startedCpu);
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
      return {
        uptimeS: (performance.now() - startedMs) / 1000,
        cpuS: { user: user / 1e6, system: system / 1e6 },
        memoryBytes: { rss, heap_total: heapTotal, heap_used: heapUsed, external },
        eventLoopDelayS: eventLoop.take(),
      };
    },
    close: eventLoop.close,
  };
}

/** Whatever holds the event loop up for longer than this is in some sample. Each one wakes the process. */
const SAMPLE_MS = 50;
const HOUR_US = 3_600_000_000;

interface EventLoopSamples {
  /** Of all samples since the last call; undefined where there are none. */
  take(): EventLoopDelay | undefined;
  close(): void;
}

/**
 * How late a timer is, again and again. Node’s `monitorEventLoopDelay` does nearly that, but it takes no sample of the time
 * from a `reset()` to its next tick: with a reset at each collection it misses what the rest of that collection holds up.
 */
function sampleEventLoop(): EventLoopSamples {
  const delaysUs = createHistogram({ lowest: 1, highest: HOUR_US, figures: 2 });
  let dueMs = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // A histogram takes whole numbers from 1 on, and counts nothing of what is above its highest.
    delaysUs.record(Math.min(Math.max(1, Math.round((nowMs - dueMs) * 1000)), HOUR_US));
    dueMs = nowMs + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return {
    take() {
      if (delaysUs.count === 0) return undefined;
      const { mean, max } = delaysUs;
      const delay = { mean: mean / 1e6, p99: delaysUs.percentile(99) / 1e6, max: max / 1e6 };
      delaysUs.reset();
      return delay;
    },
    close: () => clearInterval(timer),
  };
}
