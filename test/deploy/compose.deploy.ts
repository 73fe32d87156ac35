/**
 * The example for Compose, run by a real docker-compose on podman: the tasks of both shops arrive in Prometheus. Images that
 * users pull are stood in for, and nothing but Prometheus gets a port of this machine.
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
import { dockerCompose, skipWithoutCompose } from './go-programs.ts';
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
  skip: skipWithoutContainers() || skipWithoutOtelcol() || skipWithoutCompose(),
}, () => {
  let folder: string;
  let port: number;
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
    port = await freePort();
    const socket = `unix://${path.join(folder, 'podman.sock')}`;
    service = await startServerProcess({
      command: 'podman',
      args: ['--log-level=fatal', 'system', 'service', '--time=0', socket],
      env: containerEnv(),
      logFile: path.join(folder, 'log'),
    });
    const more = path.join(folder, 'more.yaml');
    writeFileSync(more, portsOf(port));
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
    await untilCounted(port);
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

/** Ports for tests. */
function portsOf(prometheus: number): string {
  return `services:
  rabbitmq: { ports: !reset [] }
  grafana: { ports: !reset [] }
  prometheus: { ports: !override ["127.0.0.1:${prometheus}:9090"] }
`;
}

/** Resolves once both services have tasks that succeeded. */
async function untilCounted(port: number): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  const query = new URLSearchParams({ query: 'sum by (job) (celery_task_succeeded_total) > 0' });
  for (;;) {
    const text = await fetch(`http://127.0.0.1:${port}/api/v1/query?${query}`).then(
      (response) => response.text(),
      String,
    );
    if (SERVICES.every((name) => text.includes(`"job":"${name}"`))) return;
    assert.ok(Date.now() <= deadline, text);
    await delay(LOOK_INTERVAL_MS);
  }
}
