/**
 * Records a minute of the shop for demos and tests: a real RabbitMQ, workers of several kinds, and orders; one worker is
 * killed during a report, another is stopped. Next to the recording it writes Celery’s own report, for comparison.
 *
 *     node examples/shop/record-demo.ts --out FILE.ndjson [--home FOLDER]
 *
 * It needs what `node test/real/install.ts` installs. The application runs from a copy in the home folder, which must not
 * exist (default: a temporary one), so that tracebacks in the recording show no other path.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  type CeleryFlavour,
  type CeleryWorker,
  celeryFlavours,
  runPython,
  SHOP_FOLDER,
  startWorker,
  type WorkerOptions,
} from '../../test/real/celery.ts';
import { type RabbitMq, startRabbitmq } from '../../test/real/rabbitmq.ts';
import { type Redis, startRedis } from '../../test/real/redis.ts';
import { type ServerProcess, startServerProcess } from '../../test/real/server-process.ts';
import { joinReports, type OrdersOptions, placeOrders } from '../../test/real/shop-report.ts';

const COMMAND = resolve(import.meta.dirname, '../../src/cli/main.ts');
const RECORDER_END_TIMEOUT_MS = 10_000;
const ORDERS = 300;
const ORDERS_S = 46;
/** Seconds after the first order. */
const LONG_REPORT_S = 16;
const KILL_S = 20;
const SIGTERM_S = 36;
/** The worker timeout is 30 s; the recording goes on until it has passed. */
const AFTER_KILL_S = 33;
/** It only takes longer if the machine was suspended or overloaded; such a recording is not typical. */
const SCENARIO_S_MAX = 75;

interface Shop {
  readonly broker: RabbitMq;
  readonly redis: Redis;
  readonly home: string;
  readonly debian: CeleryFlavour;
  readonly newest: CeleryFlavour;
}

/** Runs the shop for a minute and writes the recording to `out`, and Celery’s report next to it. */
async function recordDemo(out: string, home: string): Promise<void> {
  const [broker, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  const shop = { broker, redis, home, ...prepareHome(home) };
  const recorder = await startRecorder(broker, out, home);
  const workers: CeleryWorker[] = [];
  try {
    await runScenario(shop, workers, `${out.replace(/\.ndjson$/, '')}.celery.json`);
    await recorder.end('SIGTERM', RECORDER_END_TIMEOUT_MS);
    const end = await recorder.exited;
    if (end !== 'exit code 0') throw new Error(`the recorder ended with ${end}`);
  } catch (error) {
    throw new Error(`the recorder's log:\n${recorder.logTail()}`, { cause: error });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all([broker.remove(), redis.stop()]);
  }
}

/** @param workers collects those to stop afterwards */
async function runScenario(shop: Shop, workers: CeleryWorker[], reportFile: string): Promise<void> {
  const { debian, newest } = shop;
  const hire = async (
    nodename: string,
    options: Pick<WorkerOptions, 'flavour' | 'queues'> & Partial<WorkerOptions>,
  ) => {
    const worker = await startWorker({ ...surroundings(shop, nodename), nodename, ...options });
    workers.push(worker);
    return worker;
  };
  const [, , extra, reports] = await Promise.all([
    hire('orders-1@shop-a', { flavour: newest, queues: ['orders'] }),
    hire('mail-1@shop-b', { flavour: newest, queues: ['emails', 'orders'], pool: 'threads', concurrency: 4 }),
    hire('extra-1@shop-c', { flavour: debian, queues: ['orders', 'emails'] }),
    hire('reports-1@shop-b', { flavour: debian, queues: ['reports'] }),
  ]);
  const start = Date.now();
  const until = (seconds: number) => delay(Math.max(0, start + seconds * 1000 - Date.now()));
  const customer = { ...surroundings(shop, 'till@shop-a'), flavour: newest };
  const orders = placeOrders({ ...customer, orders: ORDERS, seconds: ORDERS_S, seed: 7 });
  await until(LONG_REPORT_S);
  const longReport = placeOrders({ ...customer, orders: 1, only: 'long_report', timeoutS: AFTER_KILL_S });
  await until(KILL_S);
  await isRunningLongReport(customer);
  const killedAt = Date.now();
  await reports.kill();
  tell(`${reports.nodename} was killed`);
  await hire('reports-2@shop-c', { flavour: newest, queues: ['reports'] });
  await until(SIGTERM_S);
  await extra.stop();
  tell(`${extra.nodename} was stopped`);
  const report = joinReports(await orders, await longReport);
  // No more orders, only the totals of the workers that still run.
  const last = await placeOrders({ ...customer, orders: 0 });
  await delay(Math.max(0, killedAt + AFTER_KILL_S * 1000 - Date.now()));
  if (Date.now() - start > SCENARIO_S_MAX * 1000) throw new Error('it took too long; record again');
  writeFileSync(reportFile, `${JSON.stringify(joinReports(report, last), null, 2)}\n`);
  tell(`Celery’s report: ${reportFile}`);
}

/** Copies the application to the home folder, with the newest Celery if it is installed. */
function prepareHome(home: string): Pick<Shop, 'debian' | 'newest'> {
  for (const file of ['shop.py', 'place_orders.py']) cpSync(join(SHOP_FOLDER, file), join(home, file));
  // Meaningful host names instead of the name of this machine.
  writeFileSync(
    join(home, 'sitecustomize.py'),
    'import os, socket\nsocket.gethostname = lambda: os.environ["SHOP_HOST"]\n',
  );
  const [debian, newest] = celeryFlavours();
  if (newest === undefined) return { debian, newest: debian };
  const venv = join(home, 'venv');
  symlinkSync(dirname(dirname(newest.python)), venv);
  return { debian, newest: { ...newest, python: join(venv, 'bin/python') } };
}

/** The broker, backend, files and host name of a process of the shop. */
function surroundings(
  shop: Shop,
  nodename: string,
): Pick<OrdersOptions, 'broker' | 'backend' | 'folder' | 'env'> {
  const env = { SHOP_HOST: nodename.replace(/^.*@/, ''), PYTHONPATH: shop.home };
  return { broker: shop.broker.url, backend: shop.redis.url, folder: shop.home, env };
}

/** Starts `celery-otel record` and resolves once its queue exists, so that nothing is missed. */
async function startRecorder(broker: RabbitMq, out: string, home: string): Promise<ServerProcess> {
  const recorder = await startServerProcess({
    command: process.execPath,
    args: [COMMAND, 'record', '--broker-url', broker.url, '--out', out],
    env: { PATH: process.env['PATH'] },
    logFile: join(home, 'recorder.log'),
  });
  while (!(await broker.ctl('list_queues', 'name')).includes('celeryev.')) {
    if (!recorder.isRunning()) throw new Error(`the recorder ended:\n${recorder.logTail()}`);
  }
  return recorder;
}

/** Resolves once a worker runs the long report, so that killing it loses a task. */
async function isRunningLongReport(customer: Omit<OrdersOptions, 'orders'>): Promise<void> {
  const arguments_ = ['celery', '--app', 'shop', 'inspect', '--json', '--timeout', '1', 'active'];
  const running = async () =>
    JSON.stringify(await runPython(customer.flavour, '-m', arguments_, customer, customer)).includes('[60]');
  while (!(await running())) tell('waiting for the long report to start');
}

function tell(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

const { values } = parseArgs({ options: { out: { type: 'string' }, home: { type: 'string' } } });
if (values.out === undefined) {
  tell('Usage: node examples/shop/record-demo.ts --out FILE.ndjson [--home FOLDER]');
  process.exitCode = 78;
} else {
  // Always a new folder, since it is removed at the end.
  const home = values.home ?? mkdtempSync(join(tmpdir(), 'shop-'));
  if (values.home !== undefined) mkdirSync(home);
  try {
    await recordDemo(resolve(values.out), home);
    tell(`recorded: ${values.out}`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
