/**
 * Four services of one bridge are flooded at once with more names and workers than fit, while real tasks run: each
 * service is exported in time, nothing known is counted as unknown, and no event loop turn is long; nor do ten open
 * status pages change any of it.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { freePort } from '../real/free-port.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { exportTimes } from './export-times.ts';
import { type EventFields, event, inLists, publishRaw, type RawPublish } from './publish.ts';
import { receivedTotals } from './received-totals.ts';
import { serviceFile } from './service-file.ts';
import { ownTime, turnReports } from './turn-reports.ts';

const SERVICES = ['shop', 'billing', 'mail', 'search'];
const INTERVAL_MS = 1000;
const GAP_MAX_MS = 3 * INTERVAL_MS;
const TURN_MS_MAX = 50;
/** New names, each with its own worker. */
const PORTION = 1500;
const PORTION_MS = 750;
const PORTIONS = 20;
/** Tasks of few names in each portion, from `task-sent` to `task-succeeded`. */
const LIVES = 500;
const LIVE_NAMES = 20;
const EVENTS_A_MESSAGE = 50;
/** Open status pages. */
const PAGES = 10;
const DETAILS_MS = 2000;
/** A page asks for a twentieth of the time at most. */
const DETAILS_SHARE = 20;
const CAUGHT_UP_MS = 90_000;
/** On a busy machine the broker itself delivers an end and its start more than a second apart. */
const WINDOW_S = 3;

test('in a flood into four services, every service is exported in time, no queue is unknown and no turn is long', {
  timeout: 180_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const urls = await Promise.all(SERVICES.map((service) => rabbitmq.addVhost(service)));
  const times = exportTimes();
  const totals = receivedTotals();
  const unknown = new Set<string>();
  const sink = await startReceiver({
    onExport({ points }) {
      totals.take(points);
      // One metric per export, since each export has its own time.
      times.take(points.filter(({ metric }) => metric === 'celery.task.succeeded'));
      for (const { metric, resource, attributes } of points) {
        if (attributes['celery.task.name'] === 'unknown')
          unknown.add(`${metric} of ${resource['service.name']}`);
      }
    },
  });
  t.after(() => sink.stop());
  const services = Object.fromEntries(
    SERVICES.map((name, index) => [name, { broker_url: urls[index], reordering_window: WINDOW_S }]),
  );
  const port = await freePort();
  const common = { status: { address: `127.0.0.1:${port}` } };
  const file = serviceFile(t, { services, common, endpoint: sink.url, intervalMs: INTERVAL_MS });
  const reportTurns = import.meta.resolve('./report-turns.ts');
  const bridge = startBridge(t, {}, ['run', '--config', file], ['--import', reportTurns]);
  await bridge.logged(/(?:connected to[\s\S]*){4}/u);
  // The first export and just-in-time compilation are not measured.
  await publishAll(urls, -1);
  await delay(3 * INTERVAL_MS);
  bridge.signal('SIGUSR2');
  await bridge.logged(/"longestMs"[^\n]*\n/u);
  const pages = openPages(t, `http://127.0.0.1:${port}`);
  const fromMs = Date.now();
  for (let portion = 0; portion < PORTIONS; portion += 1) {
    const next = delay(PORTION_MS);
    await publishAll(urls, portion);
    await next;
  }
  const toMs = Date.now();
  const endMs = performance.now() + CAUGHT_UP_MS;
  const received = (PORTIONS + 1) * (PORTION + LIVES);
  // An export of many points has several requests, so one metric may be there before the other.
  const isBehind = (service: string) =>
    totals.of(service, 'celery.task.received') < received ||
    totals.of(service, 'celery.task.succeeded') < (PORTIONS + 1) * LIVES;
  while (performance.now() < endMs && SERVICES.some(isBehind)) await delay(50);
  bridge.signal('SIGUSR2');
  await bridge.logged(/(?:"longestMs"[^\n]*\n[\s\S]*){2}/u);

  const answers = await pages.end();
  t.diagnostic(
    `${answers.length} answers to open pages, at most ${Math.round(Math.max(...answers))} ms each`,
  );
  assert.ok(answers.length > PAGES);

  const [before, during] = turnReports(bridge.log());
  assert.ok(before !== undefined && during !== undefined);
  const ownMs = ownTime([...before.own, ...during.own]);
  const gapsMs = SERVICES.map((service) => {
    const gapMs = times.longestGapWithin(service, fromMs, toMs, ownMs);
    const inAllMs = times.longestGapWithin(service, fromMs, toMs, (atMs) => atMs);
    t.diagnostic(
      `${service}: at most ${Math.round(gapMs)} ms of the bridge’s own between two exports (${Math.round(inAllMs)} ms in all)`,
    );
    return gapMs;
  });
  t.diagnostic(
    `the longest turn: ${Math.round(during.longestMs)} ms, and ${Math.round(during.longestCollectingMs)} ms with a full garbage collection`,
  );
  assert.deepEqual([...unknown], []);
  for (const service of SERVICES) {
    assert.equal(totals.of(service, 'celery.task.received'), received, service);
    assert.equal(totals.of(service, 'celery.task.succeeded'), (PORTIONS + 1) * LIVES, service);
  }
  bound(t, 'between two exports in a flood of four services', Math.max(...gapsMs), GAP_MAX_MS, 'ms');
  bound(t, 'longest turn in a flood of four services', during.longestMs, TURN_MS_MAX, 'ms');
});

async function publishAll(urls: readonly string[], portion: number): Promise<void> {
  await Promise.all(urls.map((url) => publishRaw(url, [...newNames(portion), ...liveTasks(portion)])));
}

function newNames(portion: number): readonly RawPublish[] {
  return inLists(
    Array.from({ length: PORTION }, (_, index) => {
      const name = `tenant_${portion}_${index}.pay`;
      return event('task-received', { name, hostname: `celery@${name}` });
    }),
    EVENTS_A_MESSAGE,
  );
}

/** Each start arrives after its end, in another message. */
function liveTasks(portion: number): readonly RawPublish[] {
  const begun: EventFields[] = [];
  const ended: EventFields[] = [];
  for (let index = 0; index < LIVES; index += 1) {
    const of = { uuid: `${portion}-${index}`, hostname: 'celery@pod' };
    const named = { ...of, name: `shop.task_${index % LIVE_NAMES}` };
    begun.push(event('task-sent', { ...named, queue: 'orders', hostname: 'gen1@pod' }));
    begun.push(event('task-received', named));
    ended.push(event('task-started', of), event('task-succeeded', { ...of, runtime: 0.1, result: 'None' }));
  }
  return inLists([...ended, ...begun], EVENTS_A_MESSAGE);
}

/** Listens and asks as several open pages do (`page/page.js`): the status once a second, the details of a service more rarely. */
function openPages(t: TestContext, url: string) {
  const tookMs: number[] = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  async function open(_: unknown, index: number): Promise<void> {
    const { body } = await fetch(`${url}/events`, { signal: stop.signal });
    assert.ok(body !== null);
    let nextMs = 0;
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      if (!text.includes('\n\n') || performance.now() < nextMs) continue;
      const begunMs = performance.now();
      const response = await fetch(`${url}/services/${index % SERVICES.length}.json`);
      assert.equal(response.status, 200);
      await response.text();
      const endMs = performance.now();
      tookMs.push(endMs - begunMs);
      nextMs = endMs + Math.max(DETAILS_MS, DETAILS_SHARE * (endMs - begunMs));
    }
  }
  const pages = Promise.allSettled(Array.from({ length: PAGES }, open));
  return {
    /** How long each answer took. */
    async end(): Promise<readonly number[]> {
      stop.abort();
      for (const page of await pages) {
        assert.ok(page.status === 'rejected' && page.reason instanceof Error);
        assert.equal(page.reason.name, 'AbortError', String(page.reason));
      }
      return tookMs;
    },
  };
}
