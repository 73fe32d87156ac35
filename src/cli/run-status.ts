/** Serves the status of a bridge that runs as a command. What it is made of is in `status/`. */
import type { Bridge } from '../bridge.ts';
import type { Config, StatusConfig } from '../config/config.ts';
import type { Tell } from '../self/self-event.ts';
import { StatusBoard } from '../status/status-board.ts';
import { openStatus, type StatusServer } from '../status/status-server.ts';
import { VERSION } from '../version.ts';
import { SERVICE } from './command-log.ts';

export interface RunStatus {
  /** Takes every event of the bridge. */
  readonly note: Tell;
  /** @throws CeleryOtelError STATUS_UNAVAILABLE */
  open(bridge: Pick<Bridge, 'state'>): Promise<StatusServer>;
}

export function runStatus(status: StatusConfig, { services, self, otlp }: Omit<Config, 'status'>): RunStatus {
  const startedMs = performance.now();
  const board = new StatusBoard({
    services: services.map(({ name }) => name),
    self: SERVICE,
    readiness: status.readiness,
    exportIntervalMs: self.enabled ? otlp.schedule.intervalMs : undefined,
    startedMs,
  });
  const reading = (bridge: Pick<Bridge, 'state'>, nowMs: number) => ({
    nowMs,
    time: new Date(),
    services: bridge.state(),
    process: processReading(nowMs - startedMs),
  });
  return {
    note: (event) => board.note(event, performance.now()),
    open: (bridge) =>
      openStatus(status.address, {
        live: () => board.live(performance.now()),
        ready: () => board.ready(bridge.state()),
        document: () => board.document(reading(bridge, performance.now())),
      }),
  };
}

function processReading(uptimeMs: number) {
  const { user, system } = process.cpuUsage();
  return {
    version: VERSION,
    pid: process.pid,
    uptime_s: Math.round(uptimeMs) / 1000,
    cpu_s: (user + system) / 1e6,
    memory_bytes: process.memoryUsage.rss(),
  };
}
