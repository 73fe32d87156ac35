/** Serves the status of a bridge that runs as a command, and its page. The documents are made in `health/`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Config, StatusConfig } from '../config/config.ts';
import { serviceText } from '../health/service-document.ts';
import { openStatus, type StatusServer } from '../health/status-server.ts';
import type { EventSink } from '../self/self-event.ts';
import { runCooperatively } from '../timing/cooperative.ts';
import { createTurns } from '../timing/in-turns.ts';
import { type StatusSubject, statusDocuments } from './status-documents.ts';
import { statusPages } from './status-page.ts';

/** How often problems are looked for. */
const PROBLEMS_INTERVAL_MS = 5000;

export interface RunStatus {
  /** Receives every event of the bridge. */
  readonly note: EventSink;
  /** @throws CeleryOtelError STATUS_UNAVAILABLE */
  open(bridge: StatusSubject): Promise<StatusServer>;
}

export function runStatus(status: StatusConfig, { services, self, otlp }: Omit<Config, 'status'>): RunStatus {
  const documents = statusDocuments({
    services: services.map(({ name }) => name),
    readiness: status.readiness,
    exportIntervalMs: self.enabled ? otlp.schedule.intervalMs : undefined,
  });
  const { board, note } = documents;
  // These documents are made one after the other: there are as many as names and ids.
  const inTurn = createTurns();
  return {
    note,
    async open(bridge) {
      const server = await openStatus(status, {
        live: () => board.live(performance.now()),
        ready: () => board.ready(bridge.state()),
        document: () => documents.status(bridge),
        async service(index) {
          const details = await documents.service(bridge, index);
          return details && runCooperatively(nextTurn, serviceText(details));
        },
        row: (row) =>
          inTurn(async () => {
            const document = await documents.row(bridge, row);
            return document && textOf(document);
          }),
        find: (id) => inTurn(async () => textOf(await documents.find(bridge, id))),
        page: statusPages(),
      });
      // Notes when problems begin, even if nobody looks at the status.
      const timer = setInterval(() => board.look(bridge.state(), performance.now()), PROBLEMS_INTERVAL_MS);
      timer.unref();
      return {
        ...server,
        close() {
          clearInterval(timer);
          return server.close();
        },
      };
    },
  };
}

function textOf(document: object): string {
  return `${JSON.stringify(document)}\n`;
}
