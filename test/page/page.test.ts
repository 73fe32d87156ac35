/** The status page in a real Chromium: what it says, to whom, and that it asks nobody else. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { until } from '../until.ts';
import { hostileScene, largeScene, TROUBLES, wellScene } from './scenes.ts';
import { look, servePage, startChromium } from './served-page.ts';

const HOSTILE = `<img src=x onerror=alert(1)>"'\`\u202e\u001b[31m`;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

describe('the status page', () => {
  let browser: Browser;
  before(async () => {
    browser = await startChromium();
  });
  after(() => browser.close());

  test('all is well, in one line, with the numbers of the service', async (t) => {
    const { page, verdict, faults, screenshot } = await look(
      t,
      browser,
      (await servePage(t, wellScene())).url,
    );
    assert.match(await verdict(), /^✓ Fine: 1 broker connected/u);
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    const pay = page.getByRole('row', { name: /shop\.pay/u });
    assert.match((await pay.textContent()) ?? '', /7\.5 %.*PaymentRefused ×30/u);
    assert.match(
      (await page
        .getByRole('row', { name: /reports/u })
        .last()
        .textContent()) ?? '',
      /240/u,
    );
    assert.match((await page.locator('figcaption').textContent()) ?? '', /\d+ now, \d+/u);
    await screenshot('well');
    assert.deepEqual(faults, []);
  });

  for (const [name, [scene, says]] of Object.entries(TROUBLES)) {
    test(`${name}: the one line says it, and what to do`, async (t) => {
      const { url } = await servePage(t, scene);
      const { verdict, screenshot, faults } = await look(t, browser, url, { colorScheme: 'dark' });
      assert.match(await verdict(), says);
      await screenshot(name);
      assert.deepEqual(faults, []);
    });
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [width, options] of [['wide', {}] as const, ['phone', PHONE] as const]) {
      test(`no rule of accessibility is broken: ${colorScheme}, ${width}`, async (t) => {
        const [scene] = TROUBLES['events-off'] ?? assert.fail();
        const { url } = await servePage(t, scene);
        const { page, violations, screenshot } = await look(t, browser, url, { ...options, colorScheme });
        await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
        assert.deepEqual(await violations(), []);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        assert.ok(Number(overflow) <= 0, `${overflow} px beyond the screen`);
        await screenshot(`${colorScheme}-${width}`);
      });
    }
  }

  test('tables are sorted and filtered by keyboard, also thousands of rows', async (t) => {
    const { page, faults } = await look(t, browser, (await servePage(t, largeScene(1000, 5000))).url);
    const tasks = page.getByRole('table', { name: 'Tasks' });
    await page.getByText('100 of 5,000 tasks').waitFor();
    const firstName = () => tasks.getByRole('rowheader').first().textContent();
    assert.equal(await firstName(), 'shop.mail.send_receipt');
    await tasks.getByRole('button', { name: 'Runtime p95' }).focus();
    await page.keyboard.press('Enter');
    assert.equal(await firstName(), 'shop.reports.nightly');
    assert.equal(
      await tasks.getByRole('columnheader', { name: 'Runtime p95' }).getAttribute('aria-sort'),
      'descending',
    );
    await page.keyboard.press('Space');
    await until('the order is turned', async () => (await firstName()) !== 'shop.reports.nightly');
    await page.getByLabel('Filter tasks').focus();
    await page.keyboard.type('TASK_4999');
    await until('one is left', async () => (await tasks.getByRole('rowheader').count()) === 1);
    assert.equal(await firstName(), 'app.module_49.task_4999');
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Show 500 more tasks' }).press('Enter');
    await page.getByText('600 of 5,000 tasks').waitFor();
    assert.deepEqual(faults, []);
  });

  test('names are text, whatever they are', async (t) => {
    const { page, faults } = await look(t, browser, (await servePage(t, hostileScene(HOSTILE))).url);
    await page.getByRole('table', { name: 'Tasks' }).getByText('<img src=x').waitFor();
    assert.equal(await page.locator('img').count(), 0);
    await page.getByText('1 worker', { exact: true }).waitFor();
    assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /\p{Cf}/u);
    await page.getByRole('table', { name: 'All services' }).getByRole('button', { name: '2' }).press('Enter');
    await until('the other service is shown', async () =>
      /2$/u.test((await page.locator('#service-name').textContent()) ?? ''),
    );
    assert.equal(await page.evaluate('document.activeElement.id'), 'service-name');
    assert.deepEqual(faults, []);
  });

  test('a service whose details do not come has no rows of the one before', async (t) => {
    const { page } = await look(t, browser, (await servePage(t, hostileScene('other'))).url);
    const rows = page.locator('#service tbody tr');
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    await page.route('**/services/1.json', (route) => route.fulfill({ status: 503 }));
    await page.getByRole('button', { name: 'other2' }).click();
    await until('the other service is shown', async () =>
      /2$/u.test((await page.locator('#service-name').textContent()) ?? ''),
    );
    assert.equal(await rows.count(), 0);
    assert.equal(await page.locator('#plot > *').count(), 0);
    assert.doesNotMatch((await page.locator('#service').textContent()) ?? '', /No tasks yet/u);
  });

  test('the page says so when nobody answers any more', async (t) => {
    const { url, close } = await servePage(t, wellScene());
    const { verdict } = await look(t, browser, url);
    await close();
    await until('it says so', async () => /^✗ celery-otel does not answer: /u.test(await verdict()));
  });

  test('the page says so when the details of the service are of a while ago', async (t) => {
    const { url } = await servePage(t, wellScene());
    const { page } = await look(t, browser, url);
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    const stale = page.locator('#stale');
    assert.equal(await stale.isVisible(), false);
    await page.route('**/services/0.json', (route) => route.fulfill({ status: 503 }));
    await until('it says so', async () =>
      /^celery-otel has no details of this service now \(503\)\. The state below is from \d/u.test(
        (await stale.textContent()) ?? '',
      ),
    );
    await page.unroute('**/services/0.json');
    await stale.waitFor({ state: 'hidden' });
  });

  test('a page that nobody sees listens to nothing, and one that is seen again does', async (t) => {
    const { url, close } = await servePage(t, wellScene());
    const { page, verdict } = await look(t, browser, url);
    const hide = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'));`,
      );
    await hide(true);
    await close();
    // Time enough for an event of the stream, if there still were one.
    await page.waitForTimeout(1500);
    assert.match(await verdict(), /^✓ Fine: 1 broker connected/u);
    await hide(false);
    await until('it asks again', async () => /does not answer/u.test(await verdict()));
  });

  test('the policy allows nothing but the page’s own files', async (t) => {
    const { url } = await servePage(t, wellScene());
    const policy = (await fetch(url)).headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'self';/u);
    assert.doesNotMatch(policy, /unsafe|\*|http/u);
    const { page } = await look(t, browser, url);
    const ran = await page.evaluate(
      `new Promise((resolve) => { document.addEventListener('securitypolicyviolation', () => resolve('refused'));
        const script = document.createElement('script'); script.textContent = 'window.ran = 1'; document.body.append(script); })`,
    );
    assert.equal(ran, 'refused');
  });
});
