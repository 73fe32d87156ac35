/** The messages of all recordings: what real Celery clusters sent. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { decodeMessage, type WholeMessage } from '../../src/broker/recording/format.ts';

const RECORDINGS = path.join(import.meta.dirname, '..', 'recordings');

export function recordedMessages(): readonly WholeMessage[] {
  return globSync('*.ndjson', { cwd: RECORDINGS }).flatMap((file) => {
    const [, ...lines] = readFileSync(path.join(RECORDINGS, file), 'utf8').trimEnd().split('\n');
    return lines.map((line) => {
      const decoded = decodeMessage(Buffer.from(line));
      assert.ok(decoded.ok, file);
      return decoded.message;
    });
  });
}
