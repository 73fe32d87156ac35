/** The page with a board and activities of a test’s own, over HTTP, and a real Chromium that looks at it. */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { statusPages } from '../../src/cli/status-page.ts';
import type { ClusterView } from '../../src/cluster/observation.ts';
import { serviceDocument, serviceText } from '../../src/health/service-document.ts';
import { StatusBoard } from '../../src/health/status-board.ts';
import { openStatus, type StatusServer } from '../../src/health/status-server.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import type { Activity } from '../../src/service/activity/activity.ts';
import { EventRates, type ServiceState } from '../../src/service/service-state.ts';
import { printable } from '../../src/text/printable.ts';
import { runCooperatively } from '../../src/timing/cooperative.ts';
import { foundDocument, rowDocument } from './row-scenes.ts';

const EXECUTABLE = '/usr/bin/chromium';
/** Where screenshots are written, to be looked at: only if somebody will, since a second of a core goes into each. */
const FOLDER = path.join(tmpdir(), 'celery-otel-page');
const ARE_WANTED = process.env['SCREENSHOTS'] === '1';
const LASTED_MS = 60_000;
const TABLE = { size: 5, limit: 10_000, evicted: 0, bytes: 5, bytesMax: 100 };
const PROCESS = { version: '0.1.0', pid: 5, uptime_s: 93_784, cpu_s: 1.5, memory_bytes: 91_000_000 };

export interface Scene {
  readonly events: readonly SelfEvent[];
  readonly services: readonly {
    readonly state: Partial<ServiceState> & { readonly name: string };
    readonly activity: Activity;
    readonly view: ClusterView;
  }[];
  /** Of arrivals. */
  readonly nowMs: number;
}

/** The numbers of workers and queues are those of the view. */
async function stateOf(
  { state: more, activity, view }: Scene['services'][number],
  nowMs: number,
): Promise<ServiceState> {
  const eventRates = new EventRates(() => 0, activity);
  await eventRates.keepingNumbers(
    async () => view,
    () => nowMs,
  )();
  return {
    ...eventRates.read(nowMs),
    phase: 'listening',
    events: { received: 48_210, perS: 12.4, lagMs: 21 },
    tables: { tasks: TABLE, workers: TABLE, reordering_window: TABLE, clock_skews: TABLE },
    ...more,
  };
}

/** Of its tasks, queues and workers, as they are shown. */
function namesOf({ activity, view }: Scene['services'][number], nowMs: number): ReadonlySet<string> {
  const tasks = [...activity.read(nowMs, view).tasks()].map(([name]) => name);
  const queues = [...view.queues, ...(view.broker?.queues ?? [])].map(({ queue }) => queue);
  const workers = view.workers.map(({ worker }) => worker);
  return new Set([...tasks, ...queues, ...workers].map(printable));
}

/** Serves it until the test ends. */
export async function servePage(
  t: Pick<TestContext, 'after'>,
  { events, services, nowMs }: Scene,
): Promise<StatusServer> {
  const states = await Promise.all(services.map((service) => stateOf(service, nowMs)));
  const board = new StatusBoard({
    ...{ services: states.map(({ name }) => name), self: 'celery-otel', readiness: 'any' },
    ...{ exportIntervalMs: 15_000, startedMs: performance.now() },
  });
  for (const event of events) board.note(event, performance.now());
  const names = services.map(({ state }) => state.name);
  const startedMs = Date.now();
  // Some problems are reported once they have lasted.
  board.look(states, performance.now() - LASTED_MS);
  const server = await openStatus(
    { address: { host: '127.0.0.1', port: 0 } },
    {
      live: () => board.live(performance.now()),
      ready: () => board.ready(states),
      document: () =>
        board.document({ nowMs: performance.now(), time: new Date(), services: states, process: PROCESS }),
      async service(index) {
        const service = services[index];
        if (service === undefined) return undefined;
        const fullest = { metric: 'celery.task.runtime', live: 412, limit: 2000 };
        const read = service.activity.read(nowMs, service.view);
        const activity = { ...read, series: { live: 1830, overflowed: 0, fullest } };
        const options = { name: service.state.name, time: new Date(), activity };
        return runCooperatively(
          nextTurn,
          serviceText(await runCooperatively(nextTurn, serviceDocument(options))),
        );
      },
      async row(row) {
        const service = services[row.service];
        if (service === undefined) return undefined;
        const isKnown = namesOf(service, nowMs).has(row.name);
        return JSON.stringify(rowDocument(row, service.state.name, isKnown, startedMs));
      },
      find: async (id) => JSON.stringify(foundDocument(names, id, startedMs)),
      page: statusPages(),
    },
  );
  t.after(() => server.close());
  return server;
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE });
}

export interface Looked {
  readonly page: Page;
  /** Errors of the page, and requests to others. */
  readonly faults: readonly string[];
  /** In the header. */
  verdict(): Promise<string>;
  /** Pixels beyond the right edge of the screen. */
  overflow(): Promise<number>;
  /** Rules of accessibility that are broken. */
  violations(): Promise<readonly string[]>;
  /** With `SCREENSHOTS=1`. */
  screenshot(name: string): Promise<void>;
}

/** Opens a page, and waits for its verdict. */
export async function look(
  t: Pick<TestContext, 'after'>,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  address = '/',
): Promise<Looked> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 960 }, ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // That a row or an id is not known is an answer.
    const isUnknown = message.text().includes('404') && message.location().url.includes('/details/');
    if (message.type() === 'error' && !isUnknown) faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) faults.push(request.url());
  });
  await page.goto(`${url}${address}`);
  await page.locator('#verdict:not(.new)').waitFor();
  return {
    ...{ page, faults },
    verdict: async () => (await page.locator('#verdict').textContent()) ?? '',
    overflow: async () => Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth')),
    async violations() {
      const { violations } = await new AxeBuilder({ page }).analyze();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    },
    async screenshot(name) {
      if (!ARE_WANTED) return;
      mkdirSync(FOLDER, { recursive: true });
      await page.screenshot({ path: path.join(FOLDER, `${name}.png`), fullPage: true });
    },
  };
}
