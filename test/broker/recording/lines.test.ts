/** Lines of a recording: none is longer than the limit, wherever a read ends. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { LINE_LIMITS } from '../../../src/broker/recording/line-limits.ts';
import { LineTooLong, readLines } from '../../../src/broker/recording/lines.ts';

const { max } = LINE_LIMITS.line;

/** The lengths of the lines that are read, and whether the last of them was too long. */
async function lengthsOf(
  t: TestContext,
  text: string,
): Promise<readonly [lengths: number[], isOver: boolean]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'lines-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const name = path.join(folder, 'lines');
  writeFileSync(name, text);
  const file = await open(name);
  const lengths: number[] = [];
  try {
    for await (const lines of readLines(file)) lengths.push(...lines.map((line) => line.length));
    return [lengths, false];
  } catch (error) {
    assert.ok(error instanceof LineTooLong);
    return [lengths, true];
  } finally {
    await file.close();
  }
}

test('a line of the greatest length is read, and one that is longer is not', async (t) => {
  for (const before of [0, 1, 100_000]) {
    for (const end of ['', '\n', '\nnext\n']) {
      const text = (length: number) => `${'b'.repeat(before)}\n${'l'.repeat(length)}${end}`;
      const after = end.includes('next') ? [4] : [];
      assert.deepEqual(await lengthsOf(t, text(max)), [[before, max, ...after], false]);
      for (const over of [1, 100_000, 262_143])
        assert.deepEqual(await lengthsOf(t, text(max + over)), [[before], true], `${before}, ${over}`);
    }
  }
});
