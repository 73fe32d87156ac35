/**
 * The spans of tasks whose attempts overlap, are delivered again, end without an event or use an id again, beside those that the
 * Python instrumentation makes in the workers: the same runs, with the same outcomes, sent by the same attempts.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { startHttpReceiver } from '../otlp/send/http-receiver.ts';
import { runPython, startWorker } from '../real/celery.ts';
import { newestCelery } from '../real/install.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { type ReceivedSpan, spansIn, startBackend } from './received-items.ts';

const celery = newestCelery();
const isSkipped = !celery.available && process.env['CI'] !== 'true' && celery.reason;
const PAYMENTS = 20;
const CHAINS = 10;
/** What Python’s instrumentation calls the outcomes. */
const OUTCOMES: Readonly<Record<string, string>> = {
  SUCCESS: 'succeeded',
  FAILURE: 'failed',
  RETRY: 'retried',
  IGNORED: 'unknown',
};

const messageOf = ({ attributes }: ReceivedSpan): string => attributes.get('messaging.message.id') ?? '';
const isEnded = ({ name }: ReceivedSpan) => !name.endsWith('attempts.ignore');
const named = (spans: readonly ReceivedSpan[], prefix: string) =>
  spans.filter(({ name }) => name.startsWith(prefix));

/** One line for each run: its task, id, attempt and outcome, and the run that sent it. */
function linesOf(
  runs: readonly ReceivedSpan[],
  all: readonly ReceivedSpan[],
  read: { readonly retries: string; readonly outcome: (span: ReceivedSpan) => string },
): readonly string[] {
  const byId = new Map(all.map((span) => [span.spanId, span]));
  const isRun = new Set(runs);
  const placeOf = (span: ReceivedSpan) => `${messageOf(span)} ${span.attributes.get(read.retries) ?? 0}`;
  return runs
    .map((run) => {
      let above = byId.get(run.parentSpanId);
      // In Python a retry is below the attempt that it repeats, since that sends it.
      while (above !== undefined && !(isRun.has(above) && messageOf(above) !== messageOf(run)))
        above = byId.get(above.parentSpanId);
      const name = run.name.replace(/^\S+[ /]/u, '');
      return `${name} ${placeOf(run)} ${read.outcome(run)} below ${above === undefined ? 'none' : placeOf(above)}`;
    })
    .toSorted();
}

test('runs have the same spans as in instrumented workers, and more where these die', {
  skip: isSkipped,
}, async (t) => {
  assert.ok(celery.available);
  const rabbitmq = await borrowRabbitmq();
  after(() => rabbitmq.remove());
  const broker = await rabbitmq.addVhost('attempts');
  const [theirs, ours] = await Promise.all([startHttpReceiver(), startBackend()]);
  t.after(() => Promise.all([theirs.stop(), ours.stop()]));
  const flavour = { name: 'newest', version: celery.version, python: celery.python } as const;
  const cluster = { broker, backend: 'cache+memory://' };
  const env = {
    PYTHONPATH: resolve(import.meta.dirname, '../../examples/traced-shop'),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${theirs.port}`,
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
  const bridge = startBridge(t, {
    ...{ CELERY_BROKER_URL: broker, OTEL_SERVICE_NAME: 'shop', OTEL_EXPORTER_OTLP_ENDPOINT: ours.url },
    ...{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_BSP_SCHEDULE_DELAY: '200', OTEL_METRIC_EXPORT_INTERVAL: '1000' },
  });
  await bridge.logged(/connected to/u);
  const app = { folder: import.meta.dirname, app: 'shop_attempts', queues: ['orders'], env } as const;
  const start = (nodename: string) => startWorker({ ...cluster, flavour, ...app, nodename, concurrency: 4 });
  const worker = await start('steady');
  t.after(() => worker.kill());
  async function send(kind: string, count: number): Promise<readonly string[]> {
    const options = { folder: import.meta.dirname, env };
    const ids: unknown = await runPython(
      flavour,
      'shop_attempts.py',
      [kind, String(count)],
      cluster,
      options,
    );
    assert.ok(Array.isArray(ids));
    return ids.map(String);
  }
  const theirSpans = () => theirs.requests.flatMap(({ body }) => spansIn(body));
  const ourRuns = () => named(ours.spans(), 'process ');

  const ignored = send('ignore', 1);

  await t.test(
    'each end belongs to the attempt that ended, and each child to the attempt that sent it',
    async () => {
      await send('pay', PAYMENTS);
      await send('chain', CHAINS);
      const runs = PAYMENTS * 4 + CHAINS * 3;
      const python = await until('the spans of the workers', () => {
        const all = theirSpans();
        const found = named(all, 'run/').filter(isEnded);
        return found.length >= runs && { all, found };
      });
      const all = await until('our spans', () => ourRuns().filter(isEnded).length >= runs && ours.spans());
      const expected = linesOf(python.found, python.all, {
        retries: 'celery.retries',
        outcome: ({ attributes }) => OUTCOMES[attributes.get('celery.state') ?? ''] ?? '',
      });
      const actual = linesOf(named(all, 'process ').filter(isEnded), all, {
        retries: 'celery.task.retries',
        outcome: ({ attributes }) => attributes.get('celery.task.outcome') ?? '',
      });
      assert.deepEqual(actual, expected);
      assert.equal(actual.filter((line) => / retried /u.test(line)).length, PAYMENTS);
      // Each of them sends its retry, as in Python.
      const retried = all.filter(({ attributes }) => attributes.get('celery.task.outcome') === 'retried');
      const senders = named(all, 'send attempts.pay').filter(
        ({ attributes }) => attributes.get('celery.task.retries') === '1',
      );
      assert.deepEqual(
        senders.map(({ parentSpanId }) => parentSpanId).toSorted(),
        retried.map(({ spanId }) => spanId).toSorted(),
      );
    },
  );

  await t.test('an id that is used again is another trace', async () => {
    await send('reuse', 3);
    const ofOrder = () => ours.spans().filter((span) => messageOf(span) === 'order-4711');
    const spans = await until('all of them', () => ofOrder().length >= 6 && ofOrder(), ofOrder);
    const traces = [...Map.groupBy(spans, ({ traceId }) => traceId).values()];
    assert.deepEqual(
      traces.map((trace) => trace.map(({ name }) => name).toSorted()),
      Array.from({ length: 3 }, () => ['process attempts.note', 'send attempts.note']),
    );
  });

  await t.test('a task that raises Ignore has a span within a minute of its heartbeats', async () => {
    const [id = ''] = await ignored;
    const span = await until(
      'its span',
      () => ourRuns().find((each) => messageOf(each) === id),
      () => bridge.log(),
    );
    assert.equal(span.attributes.get('celery.task.outcome'), 'unknown');
  });

  await t.test('every delivery has a span, and the link leads to it, when a worker dies', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'celery-otel-outlived-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'first');
    writeFileSync(file, '');
    await worker.stop();
    const doomed = await start('doomed');
    t.after(() => doomed.kill());
    const [id = ''] = await send(file, 1);
    await until('the next worker takes it', () => doomed.log().includes('attempts.outlive'));
    const next = await start('next');
    t.after(() => next.kill());
    const isOf = (span: ReceivedSpan) => messageOf(span) === id;
    const again = await until('the second run', () =>
      ourRuns().find((span) => isOf(span) && span.attributes.get('celery.task.outcome') === 'succeeded'),
    );
    // Another process with that nodename shows that the first one has died.
    const reborn = await start('doomed');
    t.after(() => reborn.kill());
    const first = await until(
      'the span of the first run',
      () => ourRuns().find((span) => isOf(span) && span.spanId !== again.spanId),
      () => bridge.log(),
    );
    assert.match(first.attributes.get('celery.task.outcome') ?? '', /^(?:lost|redelivered)$/u);
    assert.equal(first.attributes.get('celery.worker.name'), `doomed@${hostname()}`);
    assert.deepEqual(again.links, [first.spanId]);
    assert.equal(again.traceId, first.traceId);
  });
});
