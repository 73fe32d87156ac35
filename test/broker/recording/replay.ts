/** Recordings written for a test, and their replay. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { encodeHeader, encodeMessage } from '../../../src/broker/recording/format.ts';
import { createRecordingTransport } from '../../../src/broker/recording/transport.ts';
import type { SentMessage } from '../conformance.ts';
import { addressOf, observeSession } from '../observed-session.ts';

export const BEGUN_MS = Date.parse('2026-11-21T10:00:00Z');
export const HEADER = encodeHeader(BEGUN_MS);

/** Is removed after the test. */
export function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'recording-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** A recording of these lines. */
export function fileOf(t: TestContext, ...lines: readonly string[]): string {
  const path = join(folder(t), 'events.ndjson');
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

/** Of a message that arrived so long after the first. */
export function lineOf(atMs: number, message: Partial<SentMessage> = {}): string {
  const encoded = encodeMessage({
    ...{
      arrivedAtMs: BEGUN_MS + atMs,
      exchange: 'events',
      routingKey: 'k',
      contentType: '',
      contentEncoding: '',
    },
    ...{ headers: {}, body: Buffer.from('{}') },
    ...message,
  });
  assert.ok(encoded.ok);
  return encoded.line;
}

/** A session that replays the file. */
export function replay(t: TestContext, path: string, speed: string) {
  const transport = createRecordingTransport();
  const session = observeSession(t, transport, { url: addressOf(`recording:${path}?speed=${speed}`) });
  return { transport, session };
}

/** A recording whose second line would take long to parse. @returns also the reason for which it is refused */
export function wideRecording(t: TestContext): { readonly path: string; readonly reason: string } {
  const wide = lineOf(0).replace('"headers":{', `"headers":{"a":[${'{},'.repeat(900_000)}{}],`);
  const path = fileOf(t, HEADER, lineOf(0), wide, lineOf(0));
  return { path, reason: `${path}, line 3: has more than 33792 bytes outside of strings` };
}

/** A recording whose second line has so many bytes and no end; none of them is on the disk. */
export function endlessRecording(t: TestContext, bytes: number): string {
  const path = fileOf(t, HEADER);
  truncateSync(path, bytes);
  return path;
}
