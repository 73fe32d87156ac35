/** What exports end as while a backend is away, silent or broken, and after that. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { DEADLINE_MS } from '../../deadline.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { startGrpcReceiver } from './grpc-receiver.ts';
import { startHttpReceiver } from './http-receiver.ts';
import { PEERS, rawPeer, untilTaken } from './outages.ts';

for (const { protocol, start } of BACKENDS) {
  const path = protocol === 'grpc' ? '' : '/v1/metrics';

  test(`${protocol}: a backend is reached again after an outage`, async (t) => {
    const first = await backendOf(t, start);
    const { port } = first;
    const exporter = exporterOf(t, exporterSettings(protocol, first.endpoint, { timeoutMs: DEADLINE_MS }));
    assert.equal((await exporter.export(sampleMetrics())).kind, 'success');
    await first.stop();
    for (let exports = 0; exports < 3; exports += 1)
      assert.equal((await exporter.export(sampleMetrics())).kind, 'unavailable');
    await backendOf(t, start, { port });
    await untilTaken(exporter, 20);
  });

  test(`${protocol}: a backend that restarts between two exports costs at most one of them`, async (t) => {
    const first = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, first.endpoint));
    assert.equal((await exporter.export(sampleMetrics())).kind, 'success');
    await first.stop();
    await backendOf(t, start, { port: first.port });
    // Whether gRPC has noticed by now is a matter of milliseconds.
    const next = await exporter.export(sampleMetrics());
    if (protocol !== 'grpc' || next.kind !== 'unavailable') assert.deepEqual(next, { kind: 'success' });
    assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
  });

  test(`${protocol}: without a response an export ends at its deadline, and the next one has a new connection`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, { timeoutMs: 1000 }));
    assert.equal((await exporter.export(sampleMetrics())).kind, 'success');
    backend.answer({ kind: 'nothing' });
    const beganMs = performance.now();
    const result = await exporter.export(sampleMetrics());
    assert.ok(performance.now() - beganMs >= 990, 'not before it');
    assert.equal(result.kind, 'unavailable');
    assert.match(
      'reason' in result ? result.reason : '',
      /^(?:DEADLINE_EXCEEDED \(4\): )?no reply within 1000 ms$/u,
    );
    backend.answer({ kind: 'take' });
    assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
    assert.equal(backend.accepted(), 2);
  });

  for (const scheme of ['http', 'https'] as const) {
    for (const [peer, treat] of Object.entries(PEERS)) {
      test(`${protocol} by ${scheme}: a peer that ${peer} is unavailable`, async (t) => {
        const port = await rawPeer(t, treat);
        const settings = exporterSettings(protocol, `${scheme}://127.0.0.1:${port}${path}`, {
          timeoutMs: 300,
        });
        const result = await exporterOf(t, settings).export(sampleMetrics());
        assert.equal(result.kind, 'unavailable', JSON.stringify(result));
        assert.ok('reason' in result && result.reason.length > 10, JSON.stringify(result));
      });
    }
  }
}

test('http: an incomplete response is handled by its status', async (t) => {
  const receiver = await startHttpReceiver();
  t.after(() => receiver.stop());
  const settings = exporterSettings('http/json', `http://127.0.0.1:${receiver.port}/v1/metrics`, {
    timeoutMs: 300,
  });
  const exporter = exporterOf(t, settings);
  const trickles: NodeJS.Timeout[] = [];
  t.after(() => trickles.forEach(clearInterval));
  const outcome = (status: number, treat: (response: ServerResponse) => void) => {
    receiver.answerWith((response) => {
      response.writeHead(status, { 'content-type': 'text/plain', 'content-length': 1_000_000 });
      response.write('so far');
      treat(response);
    });
    return exporter.export(sampleMetrics());
  };
  const taken = await outcome(200, () => {});
  assert.deepEqual(taken, { kind: 'success' });
  const trickling = await outcome(503, (response) =>
    trickles.push(setInterval(() => response.write('.'), 20)),
  );
  assert.equal(trickling.kind, 'unavailable');
  const cut = await outcome(400, (response) => setTimeout(() => response.destroy(), 20));
  assert.deepEqual(cut, { kind: 'refused', reason: 'HTTP 400 Bad Request: so far' });
});

test('http: of a response of ten megabytes little is read, and the status counts', async (t) => {
  const receiver = await startHttpReceiver();
  t.after(() => receiver.stop());
  const exporter = exporterOf(
    t,
    exporterSettings('http/json', `http://127.0.0.1:${receiver.port}/v1/metrics`),
  );
  const kinds = { 200: 'success', 400: 'refused', 503: 'unavailable' } as const;
  for (const [status, kind] of Object.entries(kinds)) {
    receiver.answerWith((response) => {
      response.writeHead(Number(status), { 'content-type': 'text/plain' });
      response.end(Buffer.alloc(10_000_000, 'x'));
    });
    assert.equal((await exporter.export(sampleMetrics())).kind, kind);
  }
  assert.equal(
    receiver.accepted(),
    3,
    'a connection on which an answer was not read to its end is of no use',
  );
});

test('grpc: of a response of ten megabytes little is read', async (t) => {
  const receiver = await startGrpcReceiver();
  t.after(() => receiver.stop());
  receiver.answerWith((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    const message = Buffer.alloc(10_000_005, 'x');
    message.writeUInt8(0);
    message.writeUInt32BE(10_000_000, 1);
    stream.write(message);
  });
  const exporter = exporterOf(
    t,
    exporterSettings('grpc', `http://127.0.0.1:${receiver.port}`, { timeoutMs: 2000 }),
  );
  const result = await exporter.export(sampleMetrics());
  assert.equal(result.kind, 'refused');
  assert.match(
    'reason' in result ? result.reason : '',
    /^RESOURCE_EXHAUSTED \(8\): Received message larger than max/u,
  );
});

test('http: idle connections that the backend closes during reuse cost no export', async (t) => {
  const receiver = await startHttpReceiver();
  t.after(() => receiver.stop());
  const settings = exporterSettings('http/protobuf', `http://127.0.0.1:${receiver.port}/v1/metrics`);
  const exporter = exporterOf(t, settings);
  const both = () => Promise.all([exporter.export(sampleMetrics()), exporter.export(sampleMetrics())]);
  await both();
  const used = new Set<Socket>();
  assert.equal(receiver.accepted(), 2);
  // As a peer does whose time-out for idle connections has just passed.
  receiver.answerWith((response) => {
    const { socket } = response;
    if (socket === null || receiver.accepted() > 2) return response.end();
    used.add(socket);
    return socket.resetAndDestroy();
  });
  assert.deepEqual(await both(), [{ kind: 'success' }, { kind: 'success' }]);
  assert.equal(used.size, 2);
});

test('http: a connection closed before its first response is not retried', async (t) => {
  const receiver = await startHttpReceiver({ answer: (response) => response.destroy() });
  t.after(() => receiver.stop());
  const settings = exporterSettings('http/protobuf', `http://127.0.0.1:${receiver.port}/v1/metrics`);
  const result = await exporterOf(t, settings).export(sampleMetrics());
  assert.equal(result.kind, 'unavailable');
  assert.match('reason' in result ? result.reason : '', /\(socket hang up\)$/u);
  assert.equal(receiver.requests.length, 1);
});

test('http: a request answered early is not sent to its end', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const port = await rawPeer(t, (socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\n\r\n');
      // Only reading shows that the other side has closed.
      setTimeout(() => socket.resume(), 200);
    });
    socket.on('close', resolve);
  });
  const settings = exporterSettings('http/protobuf', `http://127.0.0.1:${port}/v1/metrics`);
  const { resource, scopeMetrics } = sampleMetrics();
  const large = {
    resource,
    scopeMetrics: [...scopeMetrics, { scope: { name: 'x'.repeat(16e6) }, metrics: [] }],
  };
  assert.deepEqual(await exporterOf(t, settings).export(large), {
    kind: 'refused',
    reason: 'HTTP 413 Payload Too Large',
  });
  await closed;
});
