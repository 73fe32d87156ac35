/** The events of a cluster themselves, by `celery-otel record`, for tests that compare what was made of them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { decodeMessage } from '../../src/broker/recording/format.ts';
import { isJsonObject } from '../../src/text/json-structure.ts';
import { startBridge } from './bridge-process.ts';

type Event = Readonly<Record<string, unknown>>;

export interface EventRecorder {
  /** Resolves with all that it has recorded, in order. */
  stop(): Promise<readonly Event[]>;
}

/** Resolves once it listens. */
export async function recordEvents(t: TestContext, brokerUrl: string): Promise<EventRecorder> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-events-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'events.ndjson');
  const recorder = startBridge(t, { CELERY_BROKER_URL: brokerUrl }, ['record', '--out', file]);
  await recorder.logged(/connected to/u);
  return {
    async stop() {
      recorder.signal('SIGTERM');
      assert.equal((await recorder.ended()).code, 0);
      const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
      return lines.flatMap(eventsIn);
    },
  };
}

/** A body has one event, or a list of them. */
function eventsIn(line: string): readonly Event[] {
  const read = decodeMessage(Buffer.from(line));
  assert.ok(read.ok, line);
  const body: unknown = JSON.parse(read.message.body.toString());
  return [body].flat().filter(isJsonObject);
}
