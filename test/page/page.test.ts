/** The status pages in a real Chromium: what they say, to whom, and that they ask nobody else. */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { until } from '../until.ts';
import { FAILED_ID, OLD_FAILED_ID, RAISING } from './row-scenes.ts';
import { hostileScene, largeScene, manyScene, TROUBLES, wellScene } from './scenes.ts';
import { look, type Scene, servePage, startChromium } from './served-page.ts';

const HOSTILE = `<img src=x onerror=alert(1)>"'\`\u202e\u001b[31m`;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const [SCENE_OF_TROUBLE] = TROUBLES['worker-killed'] ?? assert.fail();
const SCREENS = {
  'light-wide': { colorScheme: 'light' },
  'dark-phone': { ...PHONE, colorScheme: 'dark' },
} as const;
/** Of each kind one: its address, and a text that it has once all is there. */
const PAGES = {
  overview: ['/', 'shop.reports.nightly'],
  problems: ['/problems', 'went silent'],
  service: ['/services/shop', 'shop.reports.nightly'],
  task: ['/services/shop/tasks/shop.pay', 'amount_of'],
  queue: ['/services/shop/queues/mails', 'Who consumes it'],
  worker: ['/services/shop/workers/celery%40mails-1', 'Running now'],
  run: [`/runs/${FAILED_ID}`, 'shop.release_stock'],
  'unknown-run': ['/runs/nothing', 'is not among the last 3,108 runs'],
  unknown: ['/services/shop/tasks/nothing', 'knows no task'],
  bridge: ['/bridge', 'What is remembered'],
} as const;

/** Those that are read by axe on the second screen too, which takes seconds each: together they have all colours. */
const READ_TWICE: readonly string[] = ['overview', 'task', 'run'];

describe('the status pages', () => {
  let browser: Browser;
  before(async () => {
    browser = await startChromium();
  });
  after(() => browser.close());

  const open = async (t: TestContext, scene: Scene, address?: string, options?: BrowserContextOptions) =>
    look(t, browser, (await servePage(t, scene)).url, options, address);

  test('all is well, in one line, with the numbers of the service', async (t) => {
    const { page, verdict, faults, screenshot } = await open(t, wellScene());
    assert.equal(await verdict(), 'Fine');
    assert.equal(await page.locator('h1').textContent(), 'shop is fine');
    assert.match((await page.locator('#subtitle').textContent()) ?? '', /^Fine: 1 broker connected/u);
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    const pay = page.getByRole('row', { name: /shop\.pay/u });
    assert.match((await pay.textContent()) ?? '', /7\.5 %.*PaymentRefused ×30/u);
    const reports = page.getByRole('table', { name: 'Queues' }).getByRole('row', { name: /reports/u });
    assert.match((await reports.textContent()) ?? '', /240/u);
    assert.match(
      (await page.locator('figcaption:visible').textContent()) ?? '',
      /^Events per second.*at [\d:]{8}events \d+/u,
    );
    await screenshot('well');
    assert.deepEqual(faults, []);
  });

  for (const [name, [scene, says]] of Object.entries(TROUBLES)) {
    test(`${name}: the first problem says it, and what to do`, async (t) => {
      const { page, verdict, screenshot, faults } = await open(t, scene, '/', { colorScheme: 'dark' });
      const [first = ''] = await page.locator('#problems li').allTextContents();
      assert.match(first, says);
      assert.ok(first.startsWith(await verdict()));
      await screenshot(name);
      assert.deepEqual(faults, []);
    });
  }

  for (const [name, options] of Object.entries(SCREENS)) {
    test(`no page breaks a rule of accessibility or is cut off: ${name}`, async (t) => {
      const { page, ...looked } = await open(t, SCENE_OF_TROUBLE, '/', options);
      for (const [kind, [address, part]] of Object.entries(PAGES)) {
        await page.goto(new URL(address, page.url()).href);
        await page.getByText(part).first().waitFor();
        if (name === 'light-wide' || READ_TWICE.includes(kind))
          assert.deepEqual(await looked.violations(), [], kind);
        const beyond = await looked.overflow();
        assert.ok(beyond <= 0, `${kind}: ${beyond} px beyond the screen`);
        const cut = await page.evaluate(
          `[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth).length`,
        );
        assert.equal(cut, 0, `${kind}: columns are cut off`);
        await looked.screenshot(`${kind}-${name}`);
      }
      assert.deepEqual(looked.faults, []);
    });
  }

  for (const [name, options] of Object.entries(SCREENS)) {
    test(`many services: the cause that they share is one problem, and the worst come first: ${name}`, async (t) => {
      const { page, verdict, ...looked } = await open(t, manyScene(), '/', options);
      assert.equal(await verdict(), 'Down 17 of 20 services');
      assert.equal(await page.locator('h1').textContent(), '17 of 20 services are down, 1 is degraded');
      const problems = await page.locator('#problems li').allTextContents();
      assert.equal(problems.length, 3);
      assert.match(
        problems[0] ?? '',
        /^Down.*collector:4317.* is not available.*17 services: service-01, service-02, /u,
      );
      const rows = page.getByRole('table', { name: 'Services' }).getByRole('row');
      const [, first = '', ...others] = await rows.allTextContents();
      assert.match(first, /^service-01down24/u);
      assert.match(others[16] ?? '', /^service-18degraded/u);
      assert.match(others.at(-1) ?? '', /^service-20fine/u);
      if (name === 'dark-phone') assert.deepEqual(await looked.violations(), []);
      assert.ok((await looked.overflow()) <= 0);
      await looked.screenshot(`many-${name}`);
      await page.locator('#problems').getByRole('link', { name: 'service-17' }).click();
      await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
      assert.equal(await page.locator('h1').textContent(), 'service-17');
      assert.equal(await page.locator('#problems li').count(), 1);
      assert.deepEqual(looked.faults, []);
    });
  }

  test('a link can be sent, a reload comes back, and so does the browser', async (t) => {
    const { page, faults } = await open(t, wellScene());
    const title = async (text: string) => {
      await until(text, async () => (await page.locator('h1').textContent()) === text);
      return new URL(page.url()).pathname;
    };
    await page.getByRole('link', { name: 'shop.pay' }).click();
    assert.equal(await title('shop.pay'), '/services/shop/tasks/shop.pay');
    assert.equal(await page.evaluate('document.activeElement.id'), 'title');
    assert.match(
      (await page.locator('#facts').textContent()) ?? '',
      /Failed share7\.5 %.*PaymentRefused ×30/u,
    );
    assert.match((await page.locator('#totals').textContent()) ?? '', /Started400/u);
    await page.getByRole('table', { name: 'Last runs' }).waitFor();
    await page.reload();
    await page.locator('#facts').getByText('PaymentRefused ×30').waitFor();
    await page.getByRole('navigation', { name: 'Where you are' }).getByRole('link', { name: 'shop' }).click();
    assert.equal(await title('shop'), '/services/shop');
    await page.getByRole('link', { name: 'orders' }).click();
    assert.equal(await title('orders'), '/services/shop/queues/orders');
    assert.match((await page.locator('#facts').textContent()) ?? '', /Length17Consumers2/u);
    await page.goBack();
    await page.goBack();
    assert.equal(await title('shop.pay'), '/services/shop/tasks/shop.pay');
    await page.goForward();
    assert.equal(await title('shop'), '/services/shop');
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'celery@web-1' }).click({ modifiers: ['Control'] });
    const other = await opened;
    await other.getByText('Worker of shop').waitFor();
    assert.equal(await title('shop'), '/services/shop');
    assert.deepEqual(faults, []);
  });

  test('a problem links what it names, and is on the pages of that alone', async (t) => {
    const [scene] = TROUBLES['worker-killed'] ?? assert.fail();
    const { page, verdict } = await open(t, scene, '/problems');
    const problems = page.locator('#problems li');
    assert.equal(await problems.count(), 2);
    await problems.getByRole('link', { name: 'mails', exact: true }).click();
    await page.getByText('Queue of shop').waitFor();
    assert.equal(new URL(page.url()).pathname, '/services/shop/queues/mails');
    assert.match((await problems.allTextContents()).join('|'), /^Degradedshop: queue mails: [^|]*$/u);
    await page.goBack();
    await problems.getByRole('link', { name: 'celery@mails-1' }).click();
    await page.getByText('Statesilent').waitFor();
    assert.match(
      (await problems.allTextContents()).join('|'),
      /^Degradedshop: celery@mails-1 went silent[^|]*$/u,
    );
    assert.equal(await verdict(), 'Degraded');
  });

  test('a name that nobody knows is said, with the time', async (t) => {
    for (const [address, says] of [
      [
        '/services/nobody',
        /^celery-otel has no service of this name\. It was looked for at [\d:]+ among 1\.$/u,
      ],
      ['/services/nobody/tasks/a', /has no service of this name/u],
      [
        '/services/shop/tasks/a%2Fb',
        /^celery-otel knows no task of this name in shop\. It was looked for at [\d:]+\.$/u,
      ],
      ['/services/shop/queues/a', /knows no queue/u],
      ['/services/shop/workers/a', /knows no worker/u],
    ] as const) {
      const { page, faults } = await open(t, wellScene(), address);
      const subtitle = page.locator('#subtitle');
      await until(`${says}`, async () => says.test((await subtitle.textContent()) ?? ''));
      assert.deepEqual(faults, []);
    }
  });

  test('the search goes to the only name, and lists several', async (t) => {
    const { page, faults, violations, screenshot } = await open(t, wellScene(), '/bridge');
    const search = page.getByRole('searchbox', { name: 'Find a name' });
    await search.fill('NIGHTLY');
    await search.press('Enter');
    await page.getByText('Task of shop').waitFor();
    assert.equal(new URL(page.url()).pathname, '/services/shop/tasks/shop.reports.nightly');
    await search.fill('reports');
    await search.press('Enter');
    await page.getByText('Queue of shop').waitFor();
    await search.fill('shop.');
    await search.press('Enter');
    await page.getByText('3 found.').waitFor();
    await page.reload();
    await page.getByText('3 found.').waitFor();
    assert.deepEqual(await violations(), []);
    await screenshot('found');
    await page.getByRole('link', { name: 'shop.pay' }).click();
    await page.getByText('Task of shop').waitFor();
    await search.fill('nothing-like-it');
    await search.press('Enter');
    await page
      .getByText(
        /^No service, task, queue or worker has this in its name, and no run .* has this id\. It was looked for/u,
      )
      .waitFor();
    assert.deepEqual(faults, []);
  });

  test('the page of a task shows the line that failed, of libraries less, and what has been unfolded stays so', async (t) => {
    const { page, faults } = await open(t, wellScene(), '/services/shop/tasks/shop.pay');
    const failures = page.getByRole('region', { name: 'Failures' });
    const first = failures.locator('details').first();
    await first.locator('mark').waitFor();
    assert.ok(((await first.locator('mark').textContent()) ?? '').startsWith(RAISING));
    assert.match((await first.locator('.library').textContent()) ?? '', /site-packages/u);
    assert.equal(await failures.locator('[open]').count(), 1);
    await failures.locator('summary').nth(3).click();
    await failures.getByText('reported no stack trace').waitFor();
    const asked = page.waitForResponse(/\/details\/0\/tasks\/shop\.pay$/u);
    await asked;
    await page
      .getByText('The last 10,000 runs of this service are remembered, which are 3,108 so far.')
      .waitFor();
    assert.equal(await failures.locator('[open]').count(), 2);
    const ended = page.locator('figure', { has: page.getByRole('heading', { name: 'Ended per minute' }) });
    assert.match(
      (await ended.locator('figcaption').textContent()) ?? '',
      /succeeded \d+.*retried \d+.*failed \d/u,
    );
    await ended.getByText('As a table').click();
    await until('each minute has a row', async () => (await ended.locator('tbody tr').count()) === 60);
    await ended.locator('.canvas').hover({ position: { x: 60, y: 60 } });
    const [oldest] = await ended.locator('tbody tr').last().getByRole('rowheader').allTextContents();
    await until(
      'the minute under the pointer is said',
      async () => (await ended.locator('time').textContent()) === `at ${oldest}`,
    );
    const runtime = page.locator('figure', { has: page.getByRole('heading', { name: 'Runtime' }) });
    // Three minutes are not known: the line is in two parts.
    assert.match((await runtime.locator('.curve').first().getAttribute('d')) ?? '', /^M[^M]*M[^M]*$/u);
    await page.getByRole('table', { name: 'Last runs' }).getByRole('link', { name: FAILED_ID }).click();
    await page.locator('#subtitle', { hasText: `Run ${FAILED_ID} of shop` }).waitFor();
    assert.equal(await page.locator('.plot:visible').count(), 0);
    assert.deepEqual(faults, []);
  });

  test('the search finds the id of a run, and shows its workflow', async (t) => {
    const { page, faults } = await open(t, wellScene(), '/bridge');
    const search = page.getByRole('searchbox', { name: 'Find a name or a task id' });
    await search.fill(FAILED_ID);
    await search.press('Enter');
    const tree = page.getByRole('table', { name: 'What it belongs to' });
    await tree.waitFor();
    assert.equal(new URL(page.url()).pathname, `/runs/${FAILED_ID}`);
    assert.equal(await page.locator('h1').textContent(), 'shop.pay failed');
    const here = await tree.locator('tr[aria-current]').allTextContents();
    assert.match(
      here.join('|'),
      /shop\.pay.*retried: GatewayBusy.*\|.*shop\.pay retry 1.*failed: PaymentRefused/u,
    );
    assert.equal(await tree.locator('tbody tr').count(), 6);
    // The end of one has no time.
    assert.equal(await tree.locator('.run').count(), 5);
    await page.getByRole('region', { name: 'Failures' }).locator('mark').waitFor();
    await page.goto(new URL(`/runs/${OLD_FAILED_ID}`, page.url()).href);
    const elsewhere = page.getByRole('region', { name: 'How it failed' });
    await elsewhere.getByText('has its last failures with their stack traces').waitFor();
    await elsewhere.getByRole('link', { name: 'shop.pay' }).click();
    await page.getByRole('region', { name: 'Failures' }).locator('mark').first().waitFor();
    await page.goto(new URL('/runs/a%2F%3Cb%3E', page.url()).href);
    await page
      .getByText(
        'This id is not among the last 3,108 runs that are remembered, and neither waiting nor running.',
      )
      .waitFor();
    assert.equal(await page.locator('h1').textContent(), 'a/<b>');
    assert.deepEqual(faults, []);
  });

  test('the page of a queue links who consumes it or did before, and that of a worker what it runs, the oldest first', async (t) => {
    const { page, faults } = await open(t, wellScene(), '/services/shop/queues/reports');
    await page.getByText('Not known: workers are not asked.').waitFor();
    await page.goto(new URL('/services/shop/queues/mails', page.url()).href);
    await page.getByText('No worker reports that it consumes it.').waitFor();
    assert.match(
      (await page.getByRole('region', { name: 'Who ran its last tasks' }).textContent()) ?? '',
      /celery@mails-1 30 runs, fell silent at .*celery@web-1 20 runs, was started again at /u,
    );
    await page.goto(new URL('/services/shop/queues/orders', page.url()).href);
    await page.getByText('celery@web-1 20 runs', { exact: true }).waitFor();
    await page
      .getByRole('region', { name: 'Who consumes it' })
      .getByRole('link', { name: 'celery@web-1' })
      .click();
    const running = page.getByRole('table', { name: 'Running now' });
    await running.getByRole('row').nth(1).waitFor();
    assert.match((await running.getByRole('row').nth(1).textContent()) ?? '', /12 min 34 s/u);
    assert.match(
      (await page.getByRole('region', { name: 'Exits' }).textContent()) ?? '',
      /fell silent.*said goodbye/u,
    );
    await page.route('**/details/**', (route) => route.fulfill({ status: 503 }));
    await page.getByText(/no details of this worker now \(503\)\. What is below is from/u).waitFor();
    assert.ok(faults.every((fault) => fault.includes('503')));
  });

  test('what celery-otel itself does is on the page of the bridge, and nowhere else', async (t) => {
    const { page } = await open(t, wellScene(), '/bridge');
    const text = async () => (await page.locator('main').ariaSnapshot()).replaceAll(/\s+/gu, ' ');
    await until('its series are known', async () => /1,830/u.test(await text()));
    // Columns find their room once there is something in them.
    for (const each of ['Memory', 'collector:4317', 'reordering window', 'celery.task.runtime: 412 of 2,000'])
      await until(each, async () => (await text()).includes(each), text);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    assert.doesNotMatch(await text(), /Lag|Series|Memory|collector|evicted/iu);
  });

  test('columns without room are folded away, and can be shown', async (t) => {
    const { page, overflow } = await open(t, wellScene(), '/', PHONE);
    const tasks = page.getByRole('region', { name: 'Tasks', exact: true });
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    await tasks.getByText(/^Folded away: .*Exceptions.*Last event\. /u).waitFor();
    assert.equal(await tasks.getByRole('columnheader', { name: 'Last event' }).count(), 0);
    await tasks.getByLabel('show all columns of tasks').check();
    await tasks.getByRole('columnheader', { name: 'Last event' }).waitFor();
    assert.ok((await overflow()) <= 0);
    await tasks.getByLabel('show all columns of tasks').uncheck();
    assert.equal(await tasks.getByRole('columnheader', { name: 'Last event' }).count(), 0);
  });

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
    assert.equal(new URL(page.url()).search, '?task-sort=runtime-p95&task-q=TASK_4999');
    await page.reload();
    await until('it is the same as before', async () => (await firstName()) === 'app.module_49.task_4999');
    await page.getByLabel('Filter tasks').fill('');
    await page.getByRole('button', { name: 'Show 500 more tasks' }).press('Enter');
    await page.getByText('600 of 5,000 tasks').waitFor();
    assert.deepEqual(faults, []);
  });

  test('names are text, whatever they are', async (t) => {
    const { page, faults } = await open(t, hostileScene(HOSTILE));
    await page.getByRole('table', { name: 'Services' }).getByRole('link', { name: '2' }).press('Enter');
    await page.getByRole('table', { name: 'Tasks' }).getByText('<img src=x').click();
    await page.getByText(/^Task of /u).waitFor();
    await page.reload();
    await page.getByText(/^Task of .*2$/u).waitFor();
    await page.locator('#facts').getByText('Started/min').waitFor();
    await page.getByRole('table', { name: 'Last runs' }).waitFor();
    assert.match((await page.locator('h1').textContent()) ?? '', /^<img src=x/u);
    assert.equal(await page.locator('img').count(), 0);
    assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /\p{Cf}/u);
    assert.deepEqual(faults, []);
  });

  test('a service whose details do not come has no rows of the one before', async (t) => {
    const { page } = await open(t, hostileScene('other'), '/services/shop');
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    await page.route('**/services/1.json', (route) => route.fulfill({ status: 503 }));
    await page.getByRole('link', { name: 'celery-otel' }).click();
    await page.getByRole('link', { name: 'other2' }).first().click();
    await page.getByText('no details of this service now (503)').waitFor();
    assert.equal(await page.locator('h1').textContent(), 'other2');
    assert.equal(await page.getByRole('table', { name: 'Tasks' }).locator('tbody tr').count(), 0);
    assert.equal(await page.locator('.plot:visible').count(), 0);
    assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /No tasks yet/u);
  });

  test('the page says so when nobody answers any more', async (t) => {
    const { url, close } = await servePage(t, wellScene());
    const { page, verdict } = await look(t, browser, url);
    await close();
    await page.getByText(/^celery-otel does not answer: /u).waitFor();
    assert.equal(await verdict(), 'Not reachable');
  });

  test('the page says so when the details of the service are of a while ago', async (t) => {
    const { url } = await servePage(t, wellScene());
    const { page } = await look(t, browser, url);
    await page.getByRole('rowheader', { name: 'shop.pay' }).waitFor();
    const stale = page.locator('#notice');
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
    assert.equal(await verdict(), 'Fine');
    await hide(false);
    await until('it asks again', async () => (await verdict()) === 'Not reachable');
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
