/**
 * The image, built from the Dockerfile and run as an orchestrator would: as any user, with nothing to write to and without
 * rights. Its base is a stand-in, and it runs on the network of this machine, or on none.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { VERSION } from '../../src/self/version.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { buildOurs, podman, skipWithoutContainers } from './containers.ts';

const IMAGE = 'localhost/celery-otel:test';
/** As little as a container can have. */
const BARE = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges', '--user=12345:12345'];
/** A shell that is no program. */
const NO_SHELL = ['sh', 'bash', 'dash'].map((name) => `--volume=/dev/null:/usr/bin/${name}:ro`);
const LOOK_INTERVAL_MS = 200;
const SERVICE = ['--env=CELERY_BROKER_URL=amqp://127.0.0.1:9', '--env=OTEL_SERVICE_NAME=shop'];

describe('the image', { skip: skipWithoutContainers() }, () => {
  before(() => buildOurs(IMAGE));

  /** Runs it to its end. */
  const run = (options: readonly string[], ...args: readonly string[]) =>
    podman('run', '--rm', '--network=none', ...BARE, ...options, IMAGE, ...args);

  test('it runs as any user, without a shell, rights or a place to write to', async () => {
    const ended = await run(NO_SHELL, '--version');
    assert.deepEqual(ended, { code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });

  test('it has the files that commands print', async () => {
    for (const flag of ['--example', '--schema']) {
      const { code, stdout, stderr } = await run([], 'config', flag);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /broker_url/u);
    }
  });

  test('by default it runs the bridge, which refuses to start without options', async () => {
    const { code, stderr } = await run([]);
    assert.equal(code, 78);
    assert.match(stderr, /CELERY_BROKER_URL/u);
  });

  test('it has nothing in it that compiles or tests', async () => {
    const script = `const { readdirSync } = require('node:fs');
      process.stdout.write(JSON.stringify([readdirSync('/app').sort(), readdirSync('/app/node_modules')]));`;
    const { stdout } = await run(['--entrypoint=node'], '--eval', script);
    const [files, packages]: [string[], string[]] = JSON.parse(stdout);
    assert.deepEqual(files, [
      'LICENSE',
      'dist',
      'node_modules',
      'otel-config',
      'package.json',
      'page',
      'schema',
    ]);
    assert.ok(packages.includes('amqplib'));
    assert.ok(!packages.includes('typescript') && !packages.includes('@biomejs'));
  });

  test('as the first process of its container it gets SIGTERM, and stops in an orderly way', async (t) => {
    const options = ['--detach', '--network=none', ...BARE, ...NO_SHELL];
    const started = await podman('run', ...options, ...SERVICE, IMAGE);
    assert.equal(started.code, 0, started.stderr);
    const id = started.stdout.trim();
    t.after(() => podman('rm', '--force', '--time=0', id));
    await untilLogged(id, 'broker-session-ended');
    assert.equal((await podman('healthcheck', 'run', id)).code, 0, 'it lives, though its broker is away');
    const stopped = await podman('stop', '--time=60', id);
    assert.equal(stopped.code, 0, stopped.stderr);
    assert.match(await logOf(id), /"kind":"service-stopped"/u);
    const state = await podman('inspect', '--format={{.State.ExitCode}}', id);
    assert.equal(state.stdout.trim(), '0');
  });

  test('it is unhealthy once /livez says so', async (t) => {
    // In place of celery-otel: alive until it is asked for anything else.
    const server = `let code = 200;
      require('node:http').createServer(({ url }, answer) => {
        if (url !== '/livez') code = 503;
        answer.writeHead(code).end();
      }).listen(9909, () => console.log('listening'));`;
    const options = ['--detach', '--network=none', ...BARE, ...NO_SHELL, '--entrypoint=node'];
    const started = await podman('run', ...options, IMAGE, '--eval', server);
    assert.equal(started.code, 0, started.stderr);
    const id = started.stdout.trim();
    t.after(() => podman('rm', '--force', '--time=0', id));
    await untilLogged(id, 'listening');
    const look = async () => (await podman('healthcheck', 'run', id)).code;
    assert.equal(await look(), 0);
    await podman('exec', id, 'node', '--eval', `fetch('http://127.0.0.1:9909/end')`);
    assert.equal(await look(), 1);
  });

  test('its labels and its user are there for tools', async () => {
    const { stdout } = await podman('image', 'inspect', '--format={{json .Config}}', IMAGE);
    const config: { User: string; Labels: Record<string, string>; ExposedPorts: Record<string, object> } =
      JSON.parse(stdout);
    assert.equal(config.User, '1000:1000');
    assert.equal(config.Labels['org.opencontainers.image.version'], VERSION);
    assert.deepEqual(Object.keys(config.ExposedPorts), ['9909/tcp']);
  });
});

async function logOf(id: string): Promise<string> {
  const { stdout, stderr } = await podman('logs', id);
  return stdout + stderr;
}

async function untilLogged(id: string, text: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await logOf(id)).includes(text)) {
    assert.ok(Date.now() <= deadline, `${text} is not in the log:\n${await logOf(id)}`);
    await delay(LOOK_INTERVAL_MS);
  }
}
