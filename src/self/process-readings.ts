/**
 * Reads CPU time, memory and event loop delay of the process that the bridge runs in. It neither changes the process nor
 * keeps it alive.
 */
import { randomUUID } from 'node:crypto';
import { createHistogram, performance } from 'node:perf_hooks';
import type { EventLoopDelay, ProcessReading } from '../meter/self-readings.ts';

export type ProcessWatch = ReturnType<typeof watchProcess>;

/** Starts sampling the event loop. */
export function watchProcess() {
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  const eventLoop = sampleEventLoop();
  /** Random; distinguishes one bridge from another. */
  const instanceId: string = randomUUID();
  return {
    instanceId,
    /** Current values, and the event loop delay since the last reading. */
    read(): ProcessReading {
      const { user, system } = process.cpuUsage(startedCpu);
      const memory = readable(() => process.memoryUsage());
      return {
        uptimeS: (performance.now() - startedMs) / 1000,
        cpuS: { user: user / 1e6, system: system / 1e6 },
        memoryBytes: memory && {
          rss: memory.rss,
          heap_total: memory.heapTotal,
          heap_used: memory.heapUsed,
          external: memory.external,
        },
        eventLoopDelayS: eventLoop.take(),
      };
    },
    /** Stops sampling. */
    close: eventLoop.close,
  };
}

/** A reading that needs a file descriptor; undefined if the process has none left. */
export function readable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The time between two samples. A blockage of the event loop that is longer than this shows in a sample. Each sample wakes the process. */
const SAMPLE_MS = 50;
const HOUR_US = 3_600_000_000;

/**
 * Measures how late a timer fires. Node’s `monitorEventLoopDelay` takes no sample between a `reset()` and its next tick, so
 * with a reset at each collection it would miss the delay that the rest of that collection causes.
 */
function sampleEventLoop() {
  const delaysUs = createHistogram({ lowest: 1, highest: HOUR_US, figures: 2 });
  let dueMs = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // The histogram takes integers from 1, and drops values above its highest.
    delaysUs.record(Math.min(Math.max(1, Math.round((nowMs - dueMs) * 1000)), HOUR_US));
    dueMs = nowMs + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return {
    /** The delay over all samples since the last call; undefined if there were no samples. */
    take(): EventLoopDelay | undefined {
      if (delaysUs.count === 0) return undefined;
      const { mean, max } = delaysUs;
      const delay = { mean: mean / 1e6, p99: delaysUs.percentile(99) / 1e6, max: max / 1e6 };
      delaysUs.reset();
      return delay;
    },
    close: () => clearInterval(timer),
  };
}
