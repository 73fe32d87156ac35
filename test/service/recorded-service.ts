/** A Celery service that replays messages written by a test, without a broker. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import type { BridgeService } from '../../src/bridge/bridge-options.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { BEGUN_MS, fileOf, HEADER, lineOf } from '../broker/recording/replay.ts';
import { type EventFields, event } from '../e2e/publish.ts';

/** One event, and when it happened and arrived, after the start of the recording. */
export interface RecordedEvent {
  readonly afterMs: number;
  readonly type: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** The events of a run of a quarter of a second. */
export function run(name: string, hostname: string, afterMs = 0): readonly RecordedEvent[] {
  const fields = { hostname, uuid: `${name} on ${hostname} after ${afterMs}`, name };
  return [
    { afterMs, type: 'task-received', fields },
    { afterMs, type: 'task-started', fields },
    {
      afterMs: afterMs + 250,
      type: 'task-succeeded',
      fields: { ...fields, runtime: 0.25, result: "'done'" },
    },
  ];
}

/** A service that replays the events, by default as fast as possible. */
export function recordedService(
  t: TestContext,
  name: string,
  events: readonly RecordedEvent[],
  speed = 'max',
): BridgeService {
  return serviceAt(name, `recording:${recording(t, events)}?speed=${speed}`);
}

/** As {@link recordedService}, with any broker. @param env further variables */
export function serviceAt(
  name: string,
  brokerUrl: string,
  env: Readonly<Record<string, string>> = {},
): BridgeService {
  const loaded = loadConfig({
    argv: [],
    env: { ...env, CELERY_BROKER_URL: brokerUrl, OTEL_SERVICE_NAME: name },
  });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded.config.services[0];
}

function recording(t: TestContext, events: readonly RecordedEvent[]): string {
  const lines = events.map(({ afterMs, type, fields = {} }) => {
    const body: EventFields = event(type, { timestamp: (BEGUN_MS + afterMs) / 1000, ...fields });
    return lineOfEvents(afterMs, JSON.stringify(body));
  });
  return fileOf(t, HEADER, ...lines);
}

/** The line of a message with this body, plain or compressed with zstd. */
export function lineOfEvents(afterMs: number, text: string, compression = ''): string {
  const body = Buffer.from(text);
  return lineOf(afterMs, {
    ...{ routingKey: 'task.multi', contentType: 'application/json', contentEncoding: 'utf-8' },
    ...{ headers: { compression }, body: compression === '' ? body : zstdCompressSync(body) },
  });
}
