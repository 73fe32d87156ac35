import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ExportResultCode } from '@opentelemetry/core';
import { OTLPMetricExporter as OfficialGrpc } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as OfficialJson } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as OfficialProtobuf } from '@opentelemetry/exporter-metrics-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import { decodePoints } from '../../../examples/demo/otlp-points.ts';
import { readEndpoint } from '../../../src/config/format/otlp-endpoint.ts';
import { createExporter } from '../../../src/otlp/send/create-exporter.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { VERSION } from '../../../src/self/version.ts';
import { readJson } from '../encode/official-otlp.ts';
import {
  BACKENDS,
  backendOf,
  exporterOf,
  exporterSettings,
  type Protocol,
  sampleMetrics,
} from './exporter-backends.ts';
import { startGrpcReceiver } from './grpc-receiver.ts';

function officialExporter(protocol: Protocol, url: string, gzip: boolean): PushMetricExporter {
  const config = {
    url,
    compression: gzip ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
    httpAgentOptions: { keepAlive: false },
  };
  switch (protocol) {
    case 'grpc':
      return new OfficialGrpc(config);
    case 'http/protobuf':
      return new OfficialProtobuf(config);
    case 'http/json':
      return new OfficialJson(config);
  }
}

async function exportOfficially(t: TestContext, exporter: PushMetricExporter): Promise<void> {
  t.after(() => exporter.shutdown());
  const { promise, resolve } = Promise.withResolvers<ExportResultCode>();
  exporter.export(sampleMetrics(), ({ code }) => resolve(code));
  assert.equal(await promise, ExportResultCode.SUCCESS);
}

for (const { protocol, start } of BACKENDS) {
  for (const compression of ['gzip', 'none'] as const) {
    test(`${protocol}, compression ${compression}: a request equals that of the official exporter`, async (t) => {
      const backend = await backendOf(t, start);
      await exportOfficially(t, officialExporter(protocol, backend.endpoint, compression === 'gzip'));
      const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, { compression }));
      assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
      const [official, ours] = backend.requests;
      assert.ok(official !== undefined && ours !== undefined);
      assert.ok(ours.body.length > 300, 'there is something in it');
      if (protocol === 'http/json') assert.deepEqual(readJson(ours.body), readJson(official.body));
      else assert.deepEqual(ours.body.toString('latin1'), official.body.toString('latin1'));
      assert.equal(ours.path, official.path);
      for (const name of ['content-type', 'content-encoding', 'grpc-encoding', 'te'])
        assert.equal(ours.headers[name], official.headers[name], name);
      assert.equal(
        ours.headers[protocol === 'grpc' ? 'grpc-encoding' : 'content-encoding'] === 'gzip',
        compression === 'gzip',
      );
      if (protocol !== 'http/json') assert.equal(decodePoints(ours.body).length, 2);
    });
  }

  test(`${protocol}: the headers of the settings are sent, and the version of this package`, async (t) => {
    const backend = await backendOf(t, start);
    const headers = {
      Authorization: 'Bearer s3cret token',
      'x-scope-orgid': 'team a',
      'content-type': 'text/plain',
    };
    await exporterOf(t, exporterSettings(protocol, backend.endpoint, { headers })).export(sampleMetrics());
    const received = backend.requests[0]?.headers ?? {};
    assert.equal(received['authorization'], 'Bearer s3cret token');
    assert.equal(received['x-scope-orgid'], 'team a');
    assert.notEqual(received['content-type'], 'text/plain', 'what the body is, is not for settings to say');
    const userAgent = received['user-agent'] ?? '';
    assert.ok(userAgent.startsWith(`celery-otel/${VERSION} `), userAgent);
  });

  test(`${protocol}: an invalid header is a configuration mistake, reported without its value`, () => {
    for (const headers of [{ 'x-key': 'two\r\nlines s3cret' }, { 'x key': 's3cret' }]) {
      assert.throws(
        () =>
          createExporter(exporterSettings(protocol, 'http://127.0.0.1:4317', { headers }), SIGNALS.metrics),
        (error) => {
          assert.ok(
            error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID',
            String(error),
          );
          assert.match(error.message, /x.key/u);
          assert.doesNotMatch(`${error.message} ${error.stack} ${error.cause}`, /s3cret/u);
          return true;
        },
      );
    }
  });
}

test('http: the whole path and query of the endpoint are kept', async (t) => {
  const [, http] = BACKENDS;
  assert.ok(http !== undefined);
  const backend = await backendOf(t, http.start);
  const endpoint = `http://127.0.0.1:${backend.port}/otlp/v1/metrics?tenant=a`;
  await exporterOf(t, exporterSettings('http/protobuf', endpoint)).export(sampleMetrics());
  assert.equal(backend.requests[0]?.path, '/otlp/v1/metrics?tenant=a');
  assert.equal(backend.requests[0]?.headers['content-length'], String(backend.requests[0]?.body.length));
});

test('http: an endpoint that is not an HTTP URL is a configuration mistake', () => {
  for (const endpoint of ['localhost:4318', 'ftp://localhost/v1/metrics', '']) {
    assert.throws(() => createExporter(exporterSettings('http/json', endpoint), SIGNALS.metrics), {
      code: 'CONFIG_INVALID',
    });
  }
});

test('grpc: without a scheme `insecure` decides about TLS, and the address may be a Unix socket or a name for gRPC’s resolver', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-grpc-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'collector.sock');
  const local = await startGrpcReceiver({ path });
  const remote = await startGrpcReceiver();
  t.after(() => Promise.all([local.stop(), remote.stop()]));
  const outcome = async (endpoint: string, insecure: boolean) =>
    (await exporterOf(t, exporterSettings('grpc', endpoint, { insecure })).export(sampleMetrics())).kind;
  assert.equal(await outcome(`unix://${path}`, false), 'success');
  assert.equal(await outcome(`127.0.0.1:${remote.port}`, true), 'success');
  assert.equal(await outcome(`127.0.0.1:${remote.port}`, false), 'unavailable');
  assert.equal(await outcome(`http://127.0.0.1:${remote.port}/`, false), 'success');
  assert.equal(await outcome(`dns:///127.0.0.1:${remote.port}`, true), 'success');
  assert.equal(remote.requests.length, 3);
});

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: requests go to the given port, also 80, or the default port of the scheme`, async (t) => {
    const backend = await backendOf(t, start);
    const dialled: string[] = [];
    // Only root can listen on port 80, so the requested port is recorded, and the connection goes to the backend
    // instead.
    const { connect } = Socket.prototype;
    t.mock.method(Socket.prototype, 'connect', function (this: Socket, ...given: unknown[]) {
      const [options, ...others] = Array.isArray(given[0]) ? given[0] : given;
      dialled.push(`${options.host}:${options.port}`);
      return Reflect.apply(connect, this, [{ host: '127.0.0.1', port: backend.port }, ...others]);
    });
    const path = protocol === 'grpc' ? '' : '/v1/metrics';
    for (const [written, port] of [
      ['http://127.0.0.1:80', 80],
      ['http://127.0.0.1:4399', 4399],
      ['http://127.0.0.1', 80],
      ['http://127.0.0.1:443', 443],
    ] as const) {
      const endpoint = readEndpoint(protocol, `${written}${path}`);
      // Our configuration refuses a gRPC address without a port, but an embedding application may use one.
      const settings = exporterSettings(protocol, endpoint.ok ? endpoint.value : written);
      const exporter = exporterOf(t, settings);
      assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' }, written);
      assert.equal(dialled.at(-1), `127.0.0.1:${port}`);
      exporter.close();
    }
    assert.equal(backend.requests.length, 4);
    const tls = exporterOf(t, exporterSettings(protocol, `https://127.0.0.1${path}`));
    assert.equal((await tls.export(sampleMetrics())).kind, 'unavailable');
    assert.equal(dialled.at(-1), '127.0.0.1:443');
    assert.equal(dialled.length, 5);
  });
}

test('grpc: a header whose name ends in -bin carries bytes', async (t) => {
  const receiver = await startGrpcReceiver();
  t.after(() => receiver.stop());
  const settings = exporterSettings('grpc', `http://127.0.0.1:${receiver.port}`, {
    headers: { 'x-key-bin': 'mäßig' },
  });
  await exporterOf(t, settings).export(sampleMetrics());
  assert.equal(Buffer.from(String(receiver.requests[0]?.headers['x-key-bin']), 'base64').toString(), 'mäßig');
});

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: two exporters to one backend do not share a connection`, async (t) => {
    const backend = await backendOf(t, start);
    for (const _ of [1, 2]) {
      const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
      assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
    }
    assert.equal(backend.accepted(), 2);
  });

  test(`${protocol}: consecutive exports use one connection`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    for (let count = 0; count < 3; count += 1) await exporter.export(sampleMetrics());
    assert.equal(backend.requests.length, 3);
    assert.equal(backend.accepted(), 1);
  });
}
