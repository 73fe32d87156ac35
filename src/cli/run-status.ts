/** Serves the status of a bridge that runs as a command, and its page. What it is made of is in `status/`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Bridge } from '../bridge.ts';
import type { Config, StatusConfig } from '../config/config.ts';
import type { Tell } from '../self/self-event.ts';
import { serviceDocument } from '../status/service-document.ts';
import { StatusBoard } from '../status/status-board.ts';
import { openStatus, type StatusServer } from '../status/status-server.ts';
import { VERSION } from '../version.ts';
import { runYielding } from '../yielding.ts';
import { SERVICE } from './command-log.ts';
import { statusPage } from './status-page.ts';

export interface RunStatus {
  /** Takes every event of the bridge. */
  readonly note: Tell;
  /** @throws CeleryOtelError STATUS_UNAVAILABLE */
  open(bridge: Pick<Bridge, 'state' | 'activity'>): Promise<StatusServer>;
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
        service: (index) => serviceText(bridge, services[index]?.name),
        page: statusPage(),
      }),
  };
}

/** Long documents are made between other work. */
async function serviceText(
  bridge: Pick<Bridge, 'activity'>,
  name: string | undefined,
): Promise<string | undefined> {
  const activity = name === undefined ? undefined : await bridge.activity(name);
  if (name === undefined || activity === undefined) return undefined;
  return runYielding(nextTurn, serviceDocument({ name, time: new Date(), activity }));
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
