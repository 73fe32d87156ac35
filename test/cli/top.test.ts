/** The command `top` without a terminal, of recordings and of addresses. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SnapshotSource } from '../../src/cli/snapshot-source.ts';
import { statusClient } from '../../src/cli/status-client.ts';
import { top } from '../../src/cli/top.ts';
import { serviceFile } from '../e2e/service-file.ts';
import { DETAILS, STATUS, snapshotOf } from '../top/shop-snapshot.ts';
import { until } from '../until.ts';
import { processIo } from './process-io.ts';

const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));

async function topOf(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { io, stdout, stderr } = processIo(env);
  const code = await top(argv, io);
  return { code, stdout: stdout(), stderr: stderr() };
}

/** @returns its port */
async function serve(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

const DOCUMENTS: RequestListener = ({ url }, response) => {
  const document = url?.endsWith('/status.json')
    ? STATUS
    : url?.endsWith('/services/0.json')
      ? DETAILS
      : undefined;
  response.writeHead(document === undefined ? 404 : 200).end(JSON.stringify(document ?? {}));
};

test('of a recording there is one report, at its end and at once, however it is given', async () => {
  const env = { CELERY_BROKER_URL: `recording:${RECORDING}`, OTEL_SERVICE_NAME: 'shop' };
  const [byVariable, byArgument] = [await topOf([], env), await topOf([`recording:${RECORDING}`])];
  assert.deepEqual([byVariable.code, byVariable.stderr], [0, '']);
  assert.match(byVariable.stdout, /^! Degraded: shop: .*\n\nshop {2}recording:.*, recording played\n/su);
  assert.match(byVariable.stdout, /^shop\.charge_card +162 +118 +16 +28 /mu);
  assert.match(byVariable.stdout, /^reports-1@shop-b +(?:left|silent) /mu);
  const timeless = (text: string) => text.replaceAll(/(?<= since )[\d:]{8}/gu, '');
  const [asGiven] = timeless(byArgument.stdout)
    .replaceAll('recording  ', 'shop  ')
    .replaceAll(/(?<=^(?:! Degraded:|-) )recording:/gmu, 'shop:')
    .split('\nWorker');
  assert.equal(asGiven, timeless(byVariable.stdout).split('\nWorker')[0]);
});

test('what a recording still holds at its end is shown, also beside a service that goes on', async (t) => {
  const services = {
    away: { broker_url: 'amqp://127.0.0.1:1' },
    shop: { broker_url: `recording:${RECORDING}?speed=max` },
  };
  const file = serviceFile(t, { services, endpoint: 'http://127.0.0.1:1', intervalMs: 1000 });
  const { io, stdout, send } = processIo({});
  const ended = top(['--config', file, '--interval', '0.2'], io);
  try {
    await until(
      'all of it',
      () => /shop\.charge_card fails often: 12 % of 134 runs /u.test(stdout()),
      stdout,
    );
  } finally {
    send('SIGTERM');
  }
  await ended;
});

test('a recording that is not there gives exit code 1, and the report says so', async () => {
  const { code, stdout } = await topOf(['recording:/nowhere/shop.ndjson']);
  assert.equal(code, 1);
  assert.match(stdout, /^✗ Down: recording: .*\/nowhere\/shop\.ndjson.*ENOENT/u);
});

test('of an address there is a report at once, below any path, and its password is not told', async (t) => {
  const asked: (string | undefined)[] = [];
  const port = await serve(t, (request, response) => {
    asked.push(request.headers.authorization);
    DOCUMENTS(request, response);
  });
  const { code, stdout, stderr } = await topOf([`http://me:s%C3%A9cret@127.0.0.1:${port}/otel`, '--once']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^✓ Fine: 1 broker connected.*\.\n\nshop {2}amqp:.*, connected\n/u);
  assert.match(stdout, /^celery@web-1 +up /mu);
  const expected = `Basic ${Buffer.from('me:sécret').toString('base64')}`;
  assert.deepEqual(asked, [expected, expected]);
});

test('a password with a percent sign is sent as it was typed', async (t) => {
  let sent: string | undefined;
  const port = await serve(t, (request, response) => {
    sent = request.headers.authorization;
    DOCUMENTS(request, response);
  });
  const { code, stderr } = await topOf([`http://me:100%@127.0.0.1:${port}`, '--once']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(sent, `Basic ${Buffer.from('me:100%').toString('base64')}`);
});

const REFUSALS: Readonly<Record<string, readonly [RequestListener, RegExp]>> = {
  'nobody who may answer': [
    (_, response) => response.writeHead(401).end(),
    /status\.json responded with status 401\./u,
  ],
  'a redirection': [
    (_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
    /status\.json responded with status 302\./u,
  ],
  'another server': [
    (_, response) => response.end('<html>'),
    /the server at this address is not celery-otel\./u,
  ],
  'a broken answer': [(request) => request.socket.destroy(), /: [^:]+\. Start celery-otel run there/u],
};

for (const [name, [listener, says]] of Object.entries(REFUSALS)) {
  test(`${name} gives exit code 1, says what to do, and no password`, async (t) => {
    const port = await serve(t, listener);
    const { code, stdout } = await topOf([`http://me:secret@127.0.0.1:${port}`, '--once']);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^✗ not reachable since \d\d:\d\d:\d\d: .* Start celery-otel run there with status_address/u,
    );
    assert.match(stdout, says);
    assert.doesNotMatch(stdout, /secret/u);
  });
}

test('an answer that does not end is not read to its end', async (t) => {
  const port = await serve(t, (_, response) => {
    response.on('drain', () => response.write('a'.repeat(65_536)));
    response.write('a'.repeat(65_536));
  });
  const { signal } = new AbortController();
  const client = statusClient(new URL(`http://127.0.0.1:${port}`), { bytesMax: 1_000_000, signal });
  await assert.rejects(client.status(), /longer than 1000000 bytes/u);
});

test('reports follow one another until a signal', async (t) => {
  const port = await serve(t, DOCUMENTS);
  const { io, stdout, send } = processIo();
  const ended = top([`http://127.0.0.1:${port}`, '--interval', '0.1'], io);
  await until('three reports', () => stdout().split('✓ Fine: ').length > 3, stdout);
  send('SIGTERM');
  assert.equal(await ended, 0);
  assert.match(stdout(), /^\d{4}-\d\d-\d\dT.*Z\n✓ Fine: /u);
});

test('what is away is asked again, keeps what was seen, and comes back', async () => {
  const { status, details } = snapshotOf();
  assert.ok(status !== undefined);
  let isAway = false;
  const source = new SnapshotSource({
    remedy: 'Start it.',
    async status() {
      if (isAway) throw new Error('gone\u001b[2J');
      return status;
    },
    service: async () => details.get(0),
  });
  assert.equal((await source.look(0)).unreachable, undefined);
  isAway = true;
  const kept = await source.look(0);
  assert.deepEqual([kept.unreachable?.reason, kept.unreachable?.remedy], ['gone\\u001b[2J', 'Start it.']);
  assert.deepEqual([kept.status?.summary.split(':', 1), kept.details.size], [['Fine'], 1]);
  isAway = false;
  assert.ok((await source.look(0)).unreachable !== undefined, 'not at once');
  await until('it is back', async () => (await source.look(0)).unreachable === undefined);
});

for (const argv of [['secret'], ['ftp://secret'], ['http://'], ['secret', '--once']]) {
  test(`anything else is refused and not repeated: ${argv.join(' ')}`, async () => {
    const { code, stderr } = await topOf(argv);
    assert.equal(code, 78);
    assert.match(
      stderr,
      /expected http:\/\/HOST:PORT of a running celery-otel, or recording:FILE; or flags only/u,
    );
    assert.doesNotMatch(stderr, /secret/u);
  });
}

test('with an address no other options have a meaning', async () => {
  const { code, stderr } = await topOf(['http://127.0.0.1:1', '--broker-url', 'amqp://a', '--interval', 'x']);
  assert.equal(code, 78);
  assert.match(
    stderr,
    /broker_url \(--broker-url\): expected no such flag with an address\n.*interval .*seconds/u,
  );
});
