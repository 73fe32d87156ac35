/** Serves the status of a bridge that runs as a command, and its page. What it is made of is in `status/`. */
import type { Config, StatusConfig } from '../config/config.ts';
import { openStatus, type StatusServer } from '../health/status-server.ts';
import type { EventSink } from '../self/self-event.ts';
import { statusPage } from './status-page.ts';
import { type Asked, statusTexts } from './status-texts.ts';

export interface RunStatus {
  /** Takes every event of the bridge. */
  readonly note: EventSink;
  /** @throws CeleryOtelError STATUS_UNAVAILABLE */
  open(bridge: Asked): Promise<StatusServer>;
}

export function runStatus(status: StatusConfig, { services, self, otlp }: Omit<Config, 'status'>): RunStatus {
  const texts = statusTexts({
    services: services.map(({ name }) => name),
    readiness: status.readiness,
    exportIntervalMs: self.enabled ? otlp.schedule.intervalMs : undefined,
  });
  const { board, note } = texts;
  return {
    note,
    open: (bridge) =>
      openStatus(status, {
        live: () => board.live(performance.now()),
        ready: () => board.ready(bridge.state()),
        document: () => texts.document(bridge),
        service: (place) => texts.service(bridge, place),
        page: statusPage(),
      }),
  };
}
