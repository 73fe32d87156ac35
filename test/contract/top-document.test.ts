/** docs/top.md has the keys, and the report of the recording that the demo plays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KEYS } from '../../src/top/keys.ts';
import { keysHelp } from '../../src/top/keys-help.ts';
import { runInProcess } from '../cli/process-io.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const DOCUMENT = new URL('../../docs/top.md', import.meta.url);
const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
/** Of a page. */
const CHARS = 150;
const ROWS = 20;

test('docs/top.md and the help have every key', () => {
  const rows = KEYS.map(({ label, doc }) => [label, doc]);
  assertGenerated(DOCUMENT, 'keys', markdownTable(['key', ''], rows));
  for (const { label, doc } of KEYS) assert.ok(keysHelp().includes(label) && keysHelp().includes(doc), label);
});

test('docs/top.md has a report', async () => {
  const { stdout } = await runInProcess(['top', `recording:${RECORDING}`], { OTEL_SERVICE_NAME: 'shop' });
  const always = stdout.replaceAll(RECORDING, 'shop.ndjson').replaceAll(/(?<= since )[\d:]{8}/gu, '12:00:00');
  const lines = always.split('\n');
  const shown = lines.slice(0, ROWS).map((line) => line.slice(0, CHARS).trimEnd());
  assertGenerated(DOCUMENT, 'top-example', `\`\`\`text\n${shown.join('\n')}\n…\n\`\`\``);
});
