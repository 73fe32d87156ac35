/** What a batch export sends, keeps, drops and reports. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DEADLINE_MS } from '../deadline.ts';
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

const [{ start: startGrpc } = assert.fail()] = BACKENDS;

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: all spans of all services arrive`, async (t) => {
    const backend = await backendOf(t, start);
    const headers = { 'x-key': 'secret' };
    const traces = batched(t, settingsFor(protocol, backend.port, { compression: 'gzip', headers }));
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
}

test('the queue is bounded in bytes, too', async (t) => {
  const traces = batched(t, settingsFor('http/protobuf', await freePort()), { maxQueueBytes: 1_000_000 });
  traces.make('shop', 100, (index) => ({ ...usualSpan(index), error: { description: 'x'.repeat(20_000) } }));
  assert.ok(traces.held().bytes <= 1_000_000);
  assert.ok(traces.held().items >= 40 && traces.held().items < 50, String(traces.held().items));
  await traces.close(0);
  assert.equal(traces.droppedInAll(), 100);
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
