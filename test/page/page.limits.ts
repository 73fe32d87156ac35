/** How soon the page is usable with many workers and tasks, and what ten open pages cost the event loop that serves them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bound } from '../bound.ts';
import { slowness } from '../processor-time.ts';
import { look, startChromium } from './served-page.ts';

const SERVING = fileURLToPath(new URL('serving-process.ts', import.meta.url));
const PAGES = 10;
const OPEN_MS = 15_000;
const USABLE_MS_MAX = 1000;
/** As the longest turns of events and exports may take. */
const TURN_MS_MAX = 50;

async function serving(t: TestContext) {
  const child = spawn(process.execPath, [SERVING], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => String((await lines.next()).value);
  return {
    url: await line(),
    async longestTurnMs() {
      child.stdin.end();
      const longestMs = Number(await line());
      await once(child, 'close');
      return longestMs;
    },
  };
}

test('with 1,000 workers and 5,000 tasks the page is usable at once, and ten of them delay nothing', async (t) => {
  const { url, longestTurnMs } = await serving(t);
  const browser = await startChromium();
  t.after(() => browser.close());
  // Chromium itself has begun by then.
  await look(t, browser, url);
  const { page } = await look(t, browser, url);
  await page.getByText('100 of 5,000 tasks').waitFor();
  await page.reload();
  await page.getByText('100 of 5,000 tasks').waitFor();
  const usable: unknown = await page.evaluate('performance.now()');
  const paints: unknown = await page.evaluate(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  );
  const slow = slowness();
  bound(t, 'the first paint of a large page', Number(paints) / slow, USABLE_MS_MAX, 'ms');
  bound(t, 'a large page has all its rows', Number(usable) / slow, USABLE_MS_MAX, 'ms');
  const pages = await Promise.all(Array.from({ length: PAGES - 2 }, () => look(t, browser, url)));
  await sleep(OPEN_MS);
  for (const { page, verdict } of pages) {
    assert.match(await verdict(), /^Degraded/u);
    assert.ok((await page.getByRole('row').count()) > 100);
  }
  bound(t, 'a turn of the event loop with ten large pages open', await longestTurnMs(), TURN_MS_MAX, 'ms');
});
