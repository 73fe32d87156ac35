/**
 * Makes the pictures of README.md and docs/operating.md: the status page and a trace of the recording that the demo plays, and the page while
 * a broker is away. It needs Chromium, takes about a minute, and tests nothing.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { until } from '../until.ts';
import { TROUBLES } from './scenes.ts';
import { servePage } from './served-page.ts';

const EXECUTABLE = '/usr/bin/chromium';
const COMMAND = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
/** A workflow of four tasks, one of which is retried. */
const TRACED = '6e1cc405-1a6c-4b99-9732-f0e1958ef9f6';
/** Nearly all of the recording: when it ends, so does the process. */
const EVENTS_MIN = 2000;
const SIZE = { width: 1280, height: 800 };

function fileOf(name: string): string {
  return fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));
}

async function settled(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.locator('#verdict:not(.new)').waitFor();
  await page.waitForLoadState('networkidle').catch(() => undefined);
}

async function pictureOfDemo(page: Page): Promise<void> {
  const receiver = await startReceiver();
  const env = {
    ...process.env,
    CELERY_BROKER_URL: `recording:${RECORDING}?speed=2`,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRIC_EXPORT_INTERVAL: '2000',
    CELERY_OTEL_STATUS_ADDRESS: '0',
  };
  const bridge = spawn(process.execPath, [COMMAND, 'run'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let log = '';
    bridge.stderr.on('data', (text) => {
      log += text;
    });
    const url = await until(
      'its address',
      () => /status at (http:\/\/[\d.:]+)/u.exec(log)?.[1],
      () => log,
    );
    await settled(page, url);
    await until('nearly all events are read', async () => {
      const { services } = JSON.parse(await (await fetch(`${url}/status.json`)).text());
      return services[0].events.received >= EVENTS_MIN;
    });
    await page.locator('tbody tr:visible').first().waitFor();
    await page.screenshot({ path: fileOf('status-page.png') });
  } finally {
    // It ends with its recording.
    if (bridge.exitCode === null && bridge.kill()) await once(bridge, 'exit');
    await receiver.stop();
  }
}

async function pictureOfTrouble(page: Page): Promise<void> {
  const [scene] = TROUBLES['broker-away'] ?? [];
  if (scene === undefined) throw new Error('there is no such scene');
  const ends: (() => unknown)[] = [];
  const { url } = await servePage({ after: (end: () => unknown) => void ends.push(end) }, scene);
  await page.emulateMedia({ colorScheme: 'dark' });
  await settled(page, url);
  await page.screenshot({ path: fileOf('status-page-broker-away.png') });
  for (const end of ends) await end();
}

async function pictureOfTrace(page: Page): Promise<void> {
  const args = [COMMAND, 'trace', TRACED, '--broker-url', `recording:${RECORDING}`, '--service-name', 'shop'];
  const text = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setContent('<pre></pre>');
  await page.addStyleTag({
    content:
      'body{margin:0;background:#14171b}pre{display:inline-block;margin:0;padding:16px;color:#e8eaed;font:14px/1.3 monospace}',
  });
  await page.locator('pre').evaluate((element, shown) => {
    element.textContent = shown;
  }, text.trimEnd());
  await page.locator('pre').screenshot({ path: fileOf('trace.png') });
}

const browser = await chromium.launch({ executablePath: EXECUTABLE });
try {
  const context = await browser.newContext({ viewport: SIZE });
  for (const make of [pictureOfDemo, pictureOfTrouble, pictureOfTrace]) {
    const page = await context.newPage();
    await make(page);
    await page.close();
  }
} finally {
  await browser.close();
}
