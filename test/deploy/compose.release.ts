/**
 * The example for Compose, run by a real docker-compose on podman: the tasks of both shops arrive in Prometheus, their traces in
 * Jaeger, and the status page says that all is well. Images that users pull are stood in for, and what the tests ask gets free
 * ports of this machine.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from '../contract/sources.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { freePort } from '../real/free-port.ts';
import { skipWithoutOtelcol } from '../real/otelcol.ts';
import { type ServerProcess, startServerProcess } from '../real/server-process.ts';
import { buildImage, buildOurs, containerEnv, podman, skipWithoutContainers } from './containers.ts';
import { dockerCompose, skipWithoutCompose, skipWithoutJaeger } from './go-programs.ts';
import { jaegerTraces, type TraceSpan } from './jaeger-traces.ts';
import { buildStandIns, STAND_INS } from './stand-ins.ts';

const FOLDER = path.join(ROOT, 'examples/compose');
const FILE = path.join(FOLDER, 'compose.yaml');
/** Beside an example that runs on this machine. */
const PROJECT = 'celery-otel-test';
const IMAGES = {
  ...STAND_INS,
  CELERY_OTEL_IMAGE: 'localhost/celery-otel:test',
  SHOP_IMAGE: 'localhost/shop:test',
};
const SERVICES = ['shop-on-rabbitmq', 'shop-on-redis'];
const LOOK_INTERVAL_MS = 1000;

describe('the example for Compose', {
  skip: skipWithoutContainers() || skipWithoutOtelcol() || skipWithoutCompose() || skipWithoutJaeger(),
}, () => {
  let folder: string;
  let ports: Ports;
  let service: ServerProcess | undefined;
  let compose: (...args: readonly string[]) => ReturnType<typeof dockerCompose>;

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-compose-'));
    await buildStandIns();
    await buildOurs(IMAGES.CELERY_OTEL_IMAGE);
    await buildImage({
      tag: IMAGES.SHOP_IMAGE,
      file: path.join(FOLDER, 'shop.Dockerfile'),
      context: path.join(ROOT, 'examples/shop'),
      args: { PYTHON_IMAGE: STAND_INS.PYTHON_IMAGE },
    });
    ports = { prometheus: await freePort(), jaeger: await freePort(), status: await freePort() };
    const socket = `unix://${path.join(folder, 'podman.sock')}`;
    service = await startServerProcess({
      command: 'podman',
      args: ['--log-level=fatal', 'system', 'service', '--time=0', socket],
      env: containerEnv(),
      logFile: path.join(folder, 'log'),
    });
    const more = path.join(folder, 'more.yaml');
    writeFileSync(more, portsOf(ports));
    const files = ['--project-name', PROJECT, '--file', FILE, '--file', more];
    compose = (...args) => dockerCompose([...files, ...args], { ...IMAGES, DOCKER_HOST: socket });
  });

  after(async () => {
    // Customers do not mind when they are stopped.
    if (service !== undefined) await compose('down', '--volumes', '--timeout', '1');
    await service?.end('SIGTERM', DEADLINE_MS);
    rmSync(folder, { recursive: true });
  });

  test('Compose takes the file, and refuses one that is wrong', async () => {
    assert.deepEqual(await compose('config', '--quiet'), { code: 0, stdout: '', stderr: '' });
    const wrong = path.join(folder, 'wrong.yaml');
    writeFileSync(wrong, 'services: { grafana: { depends_on: [nobody] } }\n');
    const { code, stderr } = await dockerCompose(['--file', FILE, '--file', wrong, 'config', '--quiet'], {});
    assert.notEqual(code, 0);
    assert.match(stderr, /nobody/u);
  });

  test('tasks of both shops arrive in Prometheus', async () => {
    const isUp = { value: false };
    const started = compose('up', '--detach', '--no-build').finally(() => {
      isUp.value = true;
    });
    // With Docker they are looked at by themselves, with podman by systemd.
    while (!isUp.value) {
      for (const broker of ['rabbitmq', 'redis'])
        await podman('healthcheck', 'run', `${PROJECT}-${broker}-1`);
      await delay(LOOK_INTERVAL_MS);
    }
    const { code, stderr } = await started;
    assert.equal(code, 0, stderr);
    await untilCounted(ports.prometheus);
  });

  test('a task’s trace is found by its id, and shows who sent it and what it sent', async () => {
    const shop = `http://127.0.0.1:${ports.jaeger}/api/traces`;
    for (const service of SERVICES) {
      const spans = await untilFound(`traces of ${service}`, async () =>
        (await jaegerTraces(`${shop}?service=${service}&limit=200`)).find(isWorkflow),
      );
      const [root] = spans.filter(({ parent }) => parent === undefined);
      assert.ok(root !== undefined && spans.filter(({ parent }) => parent === undefined).length === 1);
      const id = String(root.tags['messaging.message.id']).replaceAll('-', '');
      const [found = []] = await jaegerTraces(`${shop}/${id}`);
      const known = new Set(found.map((span) => span.id));
      assert.ok(found.length >= spans.length);
      for (const { name, parent } of found) assert.ok(parent === undefined || known.has(parent), name);
    }
  });

  test('an exemplar in Prometheus leads to its trace', async () => {
    const query = new URLSearchParams({
      query: 'celery_task_runtime_seconds_bucket',
      start: String(Date.now() / 1000 - 3600),
      end: String(Date.now() / 1000 + 60),
    });
    await untilFound('an exemplar whose trace is in Jaeger', async () => {
      const text = await textOf(`http://127.0.0.1:${ports.prometheus}/api/v1/query_exemplars?${query}`);
      const ids = [...text.matchAll(/"trace_id":"([0-9a-f]{32})"/gu)].map(([, id]) => id);
      const traces = await jaegerTraces(`http://127.0.0.1:${ports.jaeger}/api/traces/${ids.at(0) ?? '0'}`);
      return traces.find((spans) => spans.length > 0);
    });
  });

  test('the status page is there, and all is well', async () => {
    const url = `http://127.0.0.1:${ports.status}`;
    assert.match(await textOf(`${url}/`), /<!doctype html>/iu);
    const document: unknown = JSON.parse(await textOf(`${url}/status.json`));
    assert.ok(typeof document === 'object' && document !== null && 'grade' in document);
    assert.notEqual(document.grade, 'down', JSON.stringify(document));
  });

  test('celery-otel stops in an orderly way', async () => {
    const { code, stderr } = await compose('stop', 'celery-otel');
    assert.equal(code, 0, stderr);
    const { stdout } = await compose('logs', 'celery-otel');
    const stops = [...stdout.matchAll(/"kind":"service-stopped","service":"([\w-]+)"/gu)].map(
      ([, name]) => name,
    );
    assert.deepEqual(stops.sort(), SERVICES);
  });
});

interface Ports {
  readonly prometheus: number;
  readonly jaeger: number;
  readonly status: number;
}

/** Ports for tests. */
function portsOf({ prometheus, jaeger, status }: Ports): string {
  return `services:
  rabbitmq: { ports: !reset [] }
  grafana: { ports: !reset [] }
  prometheus: { ports: !override ["127.0.0.1:${prometheus}:9090"] }
  jaeger: { ports: !override ["127.0.0.1:${jaeger}:16686"] }
  celery-otel: { ports: !override ["127.0.0.1:${status}:9909"] }
`;
}

/** Resolves once both services have tasks that succeeded. */
async function untilCounted(port: number): Promise<void> {
  const query = new URLSearchParams({ query: 'sum by (job) (celery_task_succeeded_total) > 0' });
  await untilFound('tasks of both services', async () => {
    const text = await textOf(`http://127.0.0.1:${port}/api/v1/query?${query}`);
    return SERVICES.every((name) => text.includes(`"job":"${name}"`)) || undefined;
  });
}

/** More than one task, each of which was sent and has run. */
function isWorkflow(spans: readonly TraceSpan[]): boolean {
  const runs = spans.filter(({ name }) => name.startsWith('process '));
  return runs.length > 1 && spans.length > runs.length;
}

/** Resolves with what was found at last. */
async function untilFound<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() <= deadline, what);
    await delay(LOOK_INTERVAL_MS);
  }
}

/** The answer, or why there is none. */
function textOf(url: string): Promise<string> {
  return fetch(url).then((response) => response.text(), String);
}
