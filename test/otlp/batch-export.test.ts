/** What a batch export sends, keeps, drops and reports. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEADLINE_MS } from '../deadline.ts';
import { makeCertificates } from '../real/certificates.ts';
import { freePort } from '../real/free-port.ts';
import { arrivedIn, batched, settingsFor, spansIn, until } from './batched.ts';
import { usualSpan } from './encode/arbitrary-items.ts';
import { BACKENDS, backendOf } from './send/exporter-backends.ts';
import { startHttpReceiver } from './send/http-receiver.ts';

/** An HTTP backend that takes what the test says; `taken` are the requests that it took. */
async function choosyBackend(t: TestContext, statusOf: (body: Buffer, request: number) => number) {
  const taken: { readonly body: Buffer }[] = [];
  let requests = 0;
  const receiver = await startHttpReceiver({
    answer(response, request) {
      const status = statusOf(request.body, requests);
      requests += 1;
      if (status === 200) taken.push(request);
      response.writeHead(status, status === 429 ? { 'retry-after': '1' } : {});
      response.end();
    },
  });
  t.after(() => receiver.stop());
  return { port: receiver.port, taken, requests: () => requests };
}

const [{ start: startGrpc } = assert.fail(), { start: startHttp } = assert.fail()] = BACKENDS;

for (const { protocol, start } of BACKENDS) {
  for (const compression of ['gzip', 'none'] as const) {
    test(`${protocol}, compression ${compression}: all spans of all services arrive`, async (t) => {
      const backend = await backendOf(t, start);
      const headers = { 'x-key': 'secret' };
      const traces = batched(t, settingsFor(protocol, backend.port, { compression, headers }));
      traces.start();
      traces.make('shop', 700);
      traces.make('billing', 300);
      await until(() => traces.held().items === 0, traces);
      assert.equal(arrivedIn(backend.requests).size, 1000);
      const [first] = backend.requests;
      assert.equal(first?.headers['x-key'], 'secret');
      assert.equal(
        first?.path,
        protocol === 'grpc' ? '/opentelemetry.proto.collector.trace.v1.TraceService/Export' : '/v1/traces',
      );
      assert.deepEqual(
        Array.from(spansIn(first?.body ?? Buffer.alloc(0)), ([service, ids]) => [service, ids.length]),
        [
          ['billing', 256],
          ['shop', 256],
        ],
      );
      assert.equal(traces.ended[0]?.items, 512);
      assert.deepEqual(await traces.close(DEADLINE_MS), new Set());
      assert.equal(traces.droppedInAll(), 0);
    });
  }

  test(`${protocol}: 5,000 spans made at once while the backend is away all arrive, once`, async (t) => {
    const port = await freePort();
    const traces = batched(t, settingsFor(protocol, port));
    traces.start();
    traces.make('shop', 5000);
    await until(() => traces.ended.length > 0, traces);
    assert.equal(traces.ended[0]?.outcome, 'failure');
    assert.equal(traces.held().items, 5000);
    const backend = await backendOf(t, start, { port });
    await until(() => traces.held().items === 0, traces);
    assert.equal(arrivedIn(backend.requests).size, 5000);
    assert.equal(traces.droppedInAll(), 0);
    assert.ok(traces.ended.some(({ recovery }) => recovery !== undefined));
  });

  test(`${protocol}: spans with names of services of their own are below resources of their own`, async (t) => {
    const backend = await backendOf(t, start);
    const traces = batched(t, settingsFor(protocol, backend.port));
    traces.make('shop', 9, (index) => {
      const span = usualSpan(index);
      return index % 3 === 0 ? span : { ...span, serviceName: `service-${index % 3}` };
    });
    assert.deepEqual(await traces.close(DEADLINE_MS), new Set());
    assert.equal(backend.requests.length, 1);
    assert.deepEqual(
      Array.from(spansIn(backend.requests[0]?.body ?? Buffer.alloc(0)), ([service, ids]) => [
        service,
        ids.map((id) => Number.parseInt(id.slice(8), 16)),
      ]),
      [
        ['shop', [0, 3, 6]],
        ['service-1', [1, 4, 7]],
        ['service-2', [2, 5, 8]],
      ],
    );
    assert.equal(traces.ended[0]?.items, 9);
    assert.equal(traces.droppedInAll(), 0);
  });

  test(`${protocol}: what a backend rejects of a batch is told, and is not sent again`, async (t) => {
    const backend = await backendOf(t, start);
    const partial = { rejectedDataPoints: 2, rejectedSpans: 2, errorMessage: 'too old' };
    backend.answer({ kind: 'take', partial });
    const traces = batched(t, settingsFor(protocol, backend.port));
    traces.start();
    traces.make('shop', 10);
    await until(() => traces.ended.length > 0, traces);
    const [{ outcome, items, rejectedItems, reason } = {}] = traces.ended;
    assert.deepEqual([outcome, items, rejectedItems, reason], ['partial', 10, 2, 'too old']);
    assert.deepEqual(traces.held(), { items: 0, bytes: 0 });
    assert.equal(backend.requests.length, 1);
  });

  test(`${protocol}: what a backend refuses is tried in parts, dropped and counted`, async (t) => {
    const backend = await backendOf(t, start);
    backend.answer({ kind: 'refuse', message: 'not like that' });
    const traces = batched(t, settingsFor(protocol, backend.port));
    traces.start();
    traces.make('shop', 100);
    await until(() => traces.held().items === 0, traces);
    await traces.close(DEADLINE_MS);
    assert.equal(backend.requests.length, 1 + 3 * 4, 'one, its four parts, and those of one of them, twice');
    assert.deepEqual([...traces.dropped], [['shop refused', 100]]);
    assert.match(traces.ended[0]?.reason ?? '', /not like that/u);
  });

  test(`${protocol}: a backend that is busy gets all of it later, and nothing before it said`, async (t) => {
    const backend = await backendOf(t, start);
    backend.answer({ kind: 'busy', message: 'wait', retryAfterS: 2 });
    const traces = batched(t, settingsFor(protocol, backend.port));
    traces.start();
    const madeMs = performance.now();
    traces.make('shop', 10);
    await until(() => traces.ended.length > 0, traces);
    backend.answer({ kind: 'take' });
    await until(() => traces.held().items === 0, traces);
    assert.ok(performance.now() - madeMs > 1990);
    assert.equal(backend.requests.length, 2);
    assert.equal(traces.droppedInAll(), 0);
  });

  test(`${protocol}: a stop in an outage ends, with all that is left counted`, async (t) => {
    const traces = batched(t, settingsFor(protocol, await freePort()));
    traces.start();
    traces.make('shop', 700);
    traces.make('billing', 10);
    assert.deepEqual(await traces.close(500), new Set(['shop', 'billing']));
    traces.make('shop', 1);
    assert.deepEqual(
      new Map([...traces.dropped].toSorted()),
      new Map([
        ['billing stopped', 10],
        ['shop stopped', 700],
      ]),
    );
    assert.deepEqual(traces.held(), { items: 0, bytes: 0 });
  });

  test(`${protocol}: a stop does not wait for ever for a backend that is silent`, async (t) => {
    const backend = await backendOf(t, start);
    backend.answer({ kind: 'nothing' });
    const traces = batched(t, settingsFor(protocol, backend.port));
    traces.start();
    traces.make('shop', 600);
    await until(() => backend.requests.length > 0, traces);
    assert.deepEqual(await traces.close(300), new Set(['shop']));
    await delay(50);
    assert.deepEqual([...traces.dropped], [['shop stopped', 600]], 'also those under way');
  });

  test(`${protocol}: by TLS, with a client certificate`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'celery-otel-batch-tls-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { caFile, certFile, keyFile } = makeCertificates(join(folder, 'tls'));
    const ca = readFileSync(caFile);
    const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile), ca, requestCert: true };
    const backend = await backendOf(t, start, { tls });
    const settings = settingsFor(protocol, backend.port, {
      certificateFile: caFile,
      clientCertificateFile: certFile,
      clientKeyFile: keyFile,
    });
    const traces = batched(t, { ...settings, endpoint: settings.endpoint.replace('http:', 'https:') });
    traces.make('shop', 3);
    assert.deepEqual(await traces.close(DEADLINE_MS), new Set());
    assert.equal(arrivedIn(backend.requests).size, 3);
  });

  test(`${protocol}: a stop sends what waits`, async (t) => {
    const backend = await backendOf(t, start);
    const traces = batched(t, settingsFor(protocol, backend.port), { scheduleDelayMs: 60_000 });
    traces.start();
    traces.make('shop', 1300);
    assert.deepEqual(await traces.close(DEADLINE_MS), new Set());
    assert.equal(arrivedIn(backend.requests).size, 1300);
  });
}

test('a batch leaves when it is full, and one that is not after the delay', async (t) => {
  const backend = await choosyBackend(t, () => 200);
  const patient = batched(t, settingsFor('http/protobuf', backend.port), {
    scheduleDelayMs: 600_000,
    maxBatchSize: 10,
  });
  patient.start();
  patient.make('shop', 25);
  await until(() => patient.held().items === 5, patient);
  const sizes = () => backend.taken.map(({ body }) => [...spansIn(body).values()].flat().length);
  assert.deepEqual(sizes(), [10, 10]);
  const traces = batched(t, settingsFor('http/protobuf', backend.port), { scheduleDelayMs: 300 });
  traces.start();
  const beganMs = performance.now();
  traces.make('shop', 7);
  await until(() => backend.taken.length === 3, traces);
  assert.ok(performance.now() - beganMs > 290);
  assert.deepEqual(sizes(), [10, 10, 7]);
});

test('one request is under way at a time, however slow the backend is', async (t) => {
  let underWay = 0;
  let most = 0;
  const receiver = await startHttpReceiver({
    answer(response) {
      underWay += 1;
      most = Math.max(most, underWay);
      setTimeout(() => {
        underWay -= 1;
        response.end();
      }, 30);
    },
  });
  t.after(() => receiver.stop());
  const traces = batched(t, settingsFor('http/json', receiver.port), { maxBatchSize: 20 });
  traces.start();
  traces.make('shop', 200);
  await until(() => traces.held().items === 0, traces);
  assert.deepEqual([receiver.requests.length, most], [10, 1]);
});

test('an outage longer than the queue: what was dropped and what arrived is what was made', async (t) => {
  const port = await freePort();
  const traces = batched(t, settingsFor('http/protobuf', port), { maxQueueSize: 1000, maxBatchSize: 100 });
  traces.start();
  let made = 0;
  for (let round = 0; round < 20; round += 1) {
    traces.make('shop', 150);
    made += 150;
    await delay(5);
  }
  await until(() => traces.ended.length > 0, traces);
  const backend = await backendOf(t, startHttp, { port });
  traces.make('shop', 5);
  made += 5;
  await until(() => traces.held().items < 500, traces);
  traces.make('shop', 30);
  made += 30;
  assert.deepEqual(await traces.close(DEADLINE_MS), new Set());
  assert.equal(traces.dropped.get('shop queue_full'), traces.droppedInAll());
  assert.equal(arrivedIn(backend.requests).size + traces.droppedInAll(), made);
  assert.ok(traces.droppedInAll() >= 2000);
  assert.ok(traces.reported() < 10, 'thousands are told in few words');
});

test('a flood of one service costs the others nothing within their share', async (t) => {
  const port = await freePort();
  const traces = batched(t, settingsFor('http/protobuf', port), { maxQueueSize: 900, maxBatchSize: 100 });
  traces.start();
  traces.make('quiet', 1);
  traces.make('other', 1);
  traces.make('flood', 5000);
  for (let round = 0; round < 100; round += 1) {
    traces.make('quiet', 2);
    traces.make('flood', 50);
  }
  const backend = await backendOf(t, startHttp, { port });
  await traces.close(DEADLINE_MS);
  const arrived = new Map<string, number>();
  for (const { body } of backend.requests)
    for (const [service, ids] of spansIn(body))
      arrived.set(service, (arrived.get(service) ?? 0) + ids.length);
  assert.equal(arrived.get('quiet'), 201);
  assert.equal(arrived.get('other'), 1);
  assert.deepEqual([...traces.dropped.keys()], ['flood queue_full']);
  assert.equal((arrived.get('flood') ?? 0) + traces.droppedInAll(), 10_000);
});

test('the queue is bounded in bytes, too', async (t) => {
  const traces = batched(t, settingsFor('http/protobuf', await freePort()), { maxQueueBytes: 1_000_000 });
  traces.make('shop', 100, (index) => ({ ...usualSpan(index), error: { description: 'x'.repeat(20_000) } }));
  assert.ok(traces.held().bytes <= 1_000_000);
  assert.ok(traces.held().items >= 40 && traces.held().items < 50, String(traces.held().items));
  await traces.close(0);
  assert.equal(traces.droppedInAll(), 100);
});

test('a backend that takes smaller requests only gets everything', async (t) => {
  const backend = await choosyBackend(t, (body) => (body.length > 100_000 ? 413 : 200));
  const traces = batched(t, settingsFor('http/protobuf', backend.port));
  traces.start();
  traces.make('shop', 512);
  await until(() => traces.held().items === 0, traces);
  assert.equal(arrivedIn(backend.taken).size, 512);
  assert.equal(traces.droppedInAll(), 0);
});

test('a request with several names of services that is too large is split, and nothing is lost', async (t) => {
  const backend = await choosyBackend(t, (body) => (body.length > 100_000 ? 413 : 200));
  const traces = batched(t, settingsFor('http/json', backend.port));
  traces.start();
  traces.make('shop', 512, (index) => ({ ...usualSpan(index), serviceName: `service-${index % 5}` }));
  await until(() => traces.held().items === 0, traces);
  assert.equal(arrivedIn(backend.taken).size, 512);
  assert.equal(traces.droppedInAll(), 0);
});

test('of a batch with one span that the backend refuses, only that one is lost', async (t) => {
  const backend = await choosyBackend(t, (body) => (body.includes('poison') ? 400 : 200));
  const traces = batched(t, settingsFor('http/json', backend.port));
  traces.start();
  traces.make('shop', 512, (index) => ({ ...usualSpan(index), name: index === 333 ? 'poison' : 'fine' }));
  await until(() => traces.held().items === 0, traces);
  await traces.close(DEADLINE_MS);
  assert.equal(arrivedIn(backend.taken).size, 511);
  assert.deepEqual([...traces.dropped], [['shop refused', 1]]);
});

test('a backend that is away while refused requests are split loses nothing', async (t) => {
  // The first request is too large, the second is a part of it, and then it is away for a moment.
  const backend = await choosyBackend(t, (_, request) => [413, 200, 503][request] ?? 200);
  const traces = batched(t, settingsFor('http/protobuf', backend.port));
  traces.start();
  traces.make('shop', 400);
  await until(() => traces.held().items === 0, traces);
  assert.equal(arrivedIn(backend.taken).size, 400);
  assert.equal(traces.droppedInAll(), 0);
});

test('large spans are in several requests, each below what gRPC servers accept', async (t) => {
  const backend = await backendOf(t, startGrpc);
  const traces = batched(t, settingsFor('grpc', backend.port));
  traces.start();
  traces.make('shop', 512, (index) => ({
    ...usualSpan(index),
    error: { description: '\u0001'.repeat(16_000) },
  }));
  await until(() => traces.held().items === 0, traces);
  assert.equal(arrivedIn(backend.requests).size, 512);
  for (const { body } of backend.requests) assert.ok(body.length < 4 * 1024 * 1024);
  assert.ok(backend.requests.length > 3);
  assert.equal(traces.ended.length, 1, 'they are one export');
});
