/**
 * Records all files of this folder again: a real RabbitMQ, real workers, known scenarios, and next to each recording
 * Celery's own report. It reads no events, so expected values are independent of our code.
 *
 *     node test/recordings/make.ts [--home FOLDER] [NAME …]
 *
 * It needs what `node test/real/install.ts` installs. Celery runs from a home folder that must not exist (default: a
 * temporary one), so that tracebacks in the recordings show no other path.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type CeleryFlavour,
  type CeleryWorker,
  celeryFlavours,
  runPython,
  startWorker,
} from '../real/celery.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { runToEnd, type ServerProcess, startServerProcess } from '../real/server-process.ts';
import { RECORDED_CLUSTERS, type RecordedCluster, workersOf } from './recorded-clusters.ts';

const COMMAND = resolve(import.meta.dirname, '../../src/cli/main.ts');
/** Needed by one recording only, and hardly maintained: not installed with the other programs. */
const EVENTLET = 'eventlet==0.41.*';
const RECORDER_READY_TIMEOUT_MS = 20_000;
const RECORDER_END_TIMEOUT_MS = 10_000;

interface Studio {
  readonly broker: RabbitMq;
  readonly redis: Redis;
  readonly home: string;
  readonly flavours: ReadonlyMap<CeleryFlavour['name'], CeleryFlavour>;
}

/** The environment of one recording. */
interface Stage {
  readonly name: string;
  readonly row: RecordedCluster;
  readonly flavour: CeleryFlavour;
  /** Its own virtual host, without data of the recording before. */
  readonly brokerUrl: string;
  readonly backendUrl: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Makes the recordings of that name, one after another; both files of each, or none. */
async function makeRecordings(names: readonly string[], home: string): Promise<void> {
  const [broker, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  try {
    const studio = { broker, redis, home, flavours: furnish(home) };
    for (const name of names) {
      const startedMs = Date.now();
      await makeRecording(studio, name);
      tell(`${name}: ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
    }
  } finally {
    await Promise.all([broker.remove(), redis.stop()]);
  }
}

async function makeRecording(studio: Studio, name: string): Promise<void> {
  const stage = await setUp(studio, name);
  const out = join(stage.home, `${name}.ndjson`);
  const recorder = await startRecorder(studio.broker, stage, out);
  const report = await play(stage);
  await recorder.end('SIGTERM', RECORDER_END_TIMEOUT_MS);
  const end = await recorder.exited;
  if (end !== 'exit code 0') throw new Error(`the recorder ended with ${end}:\n${recorder.logTail()}`);
  // Not a copy, which would keep the permissions of a recording: only its owner may read it.
  writeFileSync(join(import.meta.dirname, `${name}.ndjson`), readFileSync(out));
  writeFileSync(join(import.meta.dirname, `${name}.expected.json`), `${JSON.stringify(report, null, 2)}\n`);
}

/** Runs the workers and the scenarios, and returns Celery's report once the workers have left. */
async function play({ row, flavour, brokerUrl, backendUrl, home, env }: Stage): Promise<unknown> {
  const cluster = { broker: brokerUrl, backend: backendUrl };
  const started = await Promise.allSettled(
    Object.entries(workersOf(row)).map(([nodename, queues]) =>
      startWorker({
        ...cluster,
        flavour,
        nodename,
        queues,
        pool: row.pool,
        concurrency: row.concurrency ?? 4,
        app: 'scenarios',
        args: row.args ?? [],
        folder: home,
        env: { ...env, SCENARIOS_HOST: hostOf(nodename) },
      }),
    ),
  );
  const workers: CeleryWorker[] = started.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
  try {
    for (const it of started) if (it.status === 'rejected') throw it.reason;
    const driver = { folder: home, env: { ...env, SCENARIOS_HOST: 'shop-a' } };
    return await runPython(flavour, 'drive.py', row.scenarios, cluster, driver);
  } catch (error) {
    throw new Error(workers.map((worker) => worker.log().slice(-4000)).join('\n'), { cause: error });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

async function setUp(studio: Studio, name: string): Promise<Stage> {
  const { broker, redis, home, flavours } = studio;
  const row = RECORDED_CLUSTERS[name];
  if (row === undefined) throw new Error(`no recording is called ${name}`);
  const flavour = flavours.get(row.celery);
  if (flavour === undefined) throw new Error(`${name} needs the ${row.celery} Celery`);
  const packages = join(home, row.pool);
  if (row.pool === 'eventlet') await installEventlet(flavour, packages);
  return {
    name,
    row,
    flavour,
    brokerUrl: await broker.addVhost(name),
    backendUrl: redis.url,
    home,
    env: {
      PYTHONPATH: `${home}:${packages}`,
      AUTOSCALE_KEEPALIVE: '2',
      SCENARIOS_JOURNAL: join(home, `${name}.journal`),
      SCENARIOS_SENT: row.sentEvents === false ? '0' : '1',
      SCENARIOS_QUORUM: row.quorum === true ? '1' : '0',
      SCENARIOS_WORKERS: Object.keys(workersOf(row)).join(','),
    },
  };
}

/** Copies the application to the home folder, with the newest Celery. */
function furnish(home: string): Studio['flavours'] {
  for (const file of ['scenarios.py', 'drive.py']) cpSync(join(import.meta.dirname, file), join(home, file));
  // Meaningful host names instead of the name of this machine.
  writeFileSync(
    join(home, 'sitecustomize.py'),
    'import os, socket\nsocket.gethostname = lambda: os.environ["SCENARIOS_HOST"]\n',
  );
  const venv = join(home, 'venv');
  const flavours = celeryFlavours().map((flavour): CeleryFlavour => {
    if (flavour.name === 'debian') return flavour;
    symlinkSync(dirname(dirname(flavour.python)), venv);
    return { ...flavour, python: join(venv, 'bin/python') };
  });
  return new Map(flavours.map((flavour) => [flavour.name, flavour]));
}

async function installEventlet(flavour: CeleryFlavour, folder: string): Promise<void> {
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', folder];
  const env = { PATH: process.env['PATH'], HOME: tmpdir() };
  await runToEnd({ command: flavour.python, args: [...install, EVENTLET], env });
}

/** Starts `celery-otel record` and resolves once its queue exists, so that nothing is missed. */
async function startRecorder(broker: RabbitMq, stage: Stage, out: string): Promise<ServerProcess> {
  const recorder = await startServerProcess({
    command: process.execPath,
    args: [COMMAND, 'record', '--broker-url', stage.brokerUrl, '--out', out],
    env: { PATH: process.env['PATH'] },
    logFile: join(stage.home, `${stage.name}.log`),
  });
  const deadline = Date.now() + RECORDER_READY_TIMEOUT_MS;
  while (!(await broker.ctl('list_queues', '--vhost', stage.name, 'name')).includes('celeryev.')) {
    if (!recorder.isRunning() || Date.now() > deadline)
      throw new Error(`the recorder is not ready:\n${recorder.logTail()}`);
  }
  return recorder;
}

function hostOf(nodename: string): string {
  return nodename.slice(nodename.indexOf('@') + 1);
}

function tell(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

const { values, positionals } = parseArgs({
  options: { home: { type: 'string' } },
  allowPositionals: true,
});
// Always a new folder, since it is removed at the end.
const home = values.home ?? mkdtempSync(join(tmpdir(), 'scenarios-'));
if (values.home !== undefined) mkdirSync(home);
try {
  await makeRecordings(positionals.length > 0 ? positionals : Object.keys(RECORDED_CLUSTERS), home);
} finally {
  rmSync(home, { recursive: true, force: true });
}
