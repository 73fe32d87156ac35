import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusTexts } from '../../src/cli/status-texts.ts';

test('the status is there although the memory cannot be read, as where no file can be opened', (t) => {
  t.mock.method(process.memoryUsage, 'rss', () => {
    throw new Error('EMFILE: too many open files, uv_resident_set_memory');
  });
  const texts = statusTexts({ services: ['shop'], readiness: 'once', exportIntervalMs: undefined });
  const { process: shown } = texts.document({ state: () => [] });
  assert.equal(shown.memory_bytes, null);
  assert.equal(shown.pid, process.pid);
});
