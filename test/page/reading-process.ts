/**
 * Reads the status pages of running bridges for the tests of `e2e/`, with a Chromium, in a process of its own: for each URL in a line of its
 * input, it opens the page anew and prints what that says, as a line of JSON. It judges nothing, and ends with its input.
 */
import { createInterface } from 'node:readline';
import { look, startChromium } from './served-page.ts';

const browser = await startChromium();
for await (const url of createInterface(process.stdin)) {
  const ends: (() => unknown)[] = [];
  const ending = { after: (end: () => unknown) => void ends.push(end) };
  const { page, verdict, faults } = await look(ending, browser, url);
  const [title, subtitle] = await Promise.all(
    ['#title', '#subtitle'].map((part) => page.locator(part).textContent()),
  );
  const problems = await page.locator('#problems li').allTextContents();
  process.stdout.write(
    `${JSON.stringify({ verdict: await verdict(), title, subtitle, problems, faults })}\n`,
  );
  for (const end of ends) await end();
}
await browser.close();
