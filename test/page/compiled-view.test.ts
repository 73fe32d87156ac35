/** The page has the view as JavaScript: `UPDATE=1 npm test -- test/page/compiled-view.test.ts` writes it. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '../..');
const FILE = path.join(ROOT, 'page/view.js');
const NOTICE =
  '/* Compiled from src/view/: edit that, and run UPDATE=1 npm test -- test/page/compiled-view.test.ts. */\n';

test('page/view.js is what src/view/ compiles to, and imports nothing', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [path.join(ROOT, 'src/view/page.ts')],
    ...{ absWorkingDir: ROOT, bundle: true, format: 'esm', target: 'es2023', charset: 'utf8' },
    ...{ metafile: true, write: false },
  });
  const text = NOTICE + (outputFiles[0]?.text ?? '');
  if (process.env['UPDATE'] === '1') writeFileSync(FILE, text);
  assert.equal(readFileSync(FILE, 'utf8'), text);
  for (const input of Object.keys(metafile.inputs)) assert.match(input, /^src\/view\//u);
});
