/** A Celery service that replays messages written by a test, without a broker. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BridgeService } from '../../src/bridge/bridge-options.ts';
import { encodeHeader, encodeMessage } from '../../src/broker/recording/format.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { type EventFields, event } from '../e2e/publish.ts';

const RECORDED_AT_MS = 1_790_000_000_000;

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
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-recorded-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'a.ndjson');
  writeFileSync(
    file,
    [encodeHeader(RECORDED_AT_MS), ...events.map(lineOf)].map((one) => `${one.trimEnd()}\n`).join(''),
  );
  return file;
}

function lineOf({ afterMs, type, fields = {} }: RecordedEvent): string {
  const atMs = RECORDED_AT_MS + afterMs;
  const body: EventFields = event(type, { timestamp: atMs / 1000, ...fields });
  const encoded = encodeMessage({
    arrivedAtMs: atMs,
    exchange: 'celeryev',
    routingKey: type.replaceAll('-', '.'),
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
  });
  assert.ok(encoded.ok);
  return encoded.line;
}
