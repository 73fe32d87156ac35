/** The log of an export to a wrong endpoint: real servers that are not OTLP backends. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import { createServer, type Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import type { ExporterSettings } from '../../../src/otlp/otlp-settings.ts';
import { type Certificates, makeCertificates } from '../../real/certificates.ts';
import { freePort } from '../../real/free-port.ts';
import { exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { listenOnLoopback } from './loopback-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'celery-otel-causes-'));
let files: Certificates;
before(() => {
  files = makeCertificates(join(folder, 'tls'));
});
after(() => rmSync(folder, { recursive: true }));

const tls = () => ({ cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) });

type Started = () => Promise<{ readonly port: number; readonly stop: () => unknown }>;

/** A gRPC server without OTLP. */
const grpcServer =
  (credentials: () => ServerCredentials): Started =>
  async () => {
    const server = new GrpcServer();
    const bound = Promise.withResolvers<number>();
    server.bindAsync('127.0.0.1:0', credentials(), (error, port) =>
      error === null ? bound.resolve(port) : bound.reject(error),
    );
    return { port: await bound.promise, stop: () => server.forceShutdown() };
  };

const webServer =
  (create: () => NetServer): Started =>
  () => {
    const server = create();
    // Of clients that want something else.
    for (const event of ['tlsClientError', 'sessionError']) server.on(event, () => {});
    return listenOnLoopback(server, {});
  };

type Responds = (request: unknown, response: Response) => void;
interface Response {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

const page =
  (status: number): Responds =>
  (_, response) => {
    response.statusCode = status;
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Welcome</title>');
  };
const status =
  (code: number): Responds =>
  (_, response) => {
    response.statusCode = code;
    response.end('');
  };

const SERVERS = {
  'a gRPC server': grpcServer(() => ServerCredentials.createInsecure()),
  'a gRPC server with TLS': grpcServer(() => {
    const { cert, key } = tls();
    return ServerCredentials.createSsl(null, [{ private_key: key, cert_chain: cert }]);
  }),
  'a web server': webServer(() => http.createServer(page(200))),
  'a web server with TLS': webServer(() => https.createServer(tls(), page(200))),
  'a web server with HTTP/2': webServer(() => http2.createServer((_, response) => page(200)(_, response))),
  'a web server that has no such path': webServer(() => http.createServer(status(404))),
  'a backend that wants credentials': webServer(() => http.createServer(status(401))),
  'a proxy': webServer(() => http.createServer(page(502))),
  'a proxy with HTTP/2': webServer(() => http2.createServer((_, response) => status(503)(_, response))),
  'a closed port': async () => ({ port: await freePort(), stop: () => {} }),
} satisfies Record<string, Started>;

type Protocol = ExporterSettings['protocol'];

type Case = readonly [
  by: readonly [Protocol, scheme: 'http' | 'https'],
  to: keyof typeof SERVERS,
  kind: 'unavailable' | 'refused',
  says: RegExp,
  more?: { readonly path?: string; readonly trusting?: boolean },
];

const GRPC = ['grpc', 'http'] as const;
const GRPC_TLS = ['grpc', 'https'] as const;
const HTTP = ['http/protobuf', 'http'] as const;
const HTTP_TLS = ['http/json', 'https'] as const;

const CASES: readonly Case[] = [
  [GRPC, 'a closed port', 'unavailable', /^nothing is listening on 127\.0\.0\.1:\d+ here: /],
  [HTTP, 'a closed port', 'unavailable', /^nothing is listening on 127\.0\.0\.1:\d+ here: /],
  [GRPC, 'a web server', 'unavailable', / does not speak gRPC: .*\(UNAVAILABLE \(14\): Protocol error\)$/],
  [GRPC_TLS, 'a web server', 'unavailable', / does not speak TLS: .*: wrong version number\)$/],
  [HTTP, 'a web server', 'refused', /^a web server or proxy answers at .*\(HTTP 200 OK: a web page\)$/],
  [HTTP_TLS, 'a web server', 'unavailable', / does not speak TLS: .*wrong version number\)$/],
  [
    GRPC,
    'a web server with TLS',
    'unavailable',
    /closed the connection without a reply: it probably expects TLS/,
  ],
  [
    GRPC_TLS,
    'a web server with TLS',
    'unavailable',
    / does not speak gRPC: .*no application protocol\)$/,
    { trusting: true },
  ],
  [
    HTTP,
    'a web server with TLS',
    'unavailable',
    /closed the connection without a reply: it probably expects TLS/,
  ],
  [
    HTTP_TLS,
    'a web server with TLS',
    'unavailable',
    /is not trusted: set otlp_certificate to its CA certificate/,
  ],
  [GRPC, 'a web server with HTTP/2', 'refused', /^a web server or proxy answers at/],
  [HTTP, 'a web server with HTTP/2', 'unavailable', / does not speak HTTP\/1: .*Parse Error/],
  [GRPC, 'a gRPC server', 'refused', /^the gRPC server at .* does not accept OTLP metrics/],
  [GRPC_TLS, 'a gRPC server', 'unavailable', / does not speak TLS/],
  [HTTP, 'a gRPC server', 'unavailable', / does not speak HTTP\/1: set otlp_protocol to grpc/],
  [
    GRPC,
    'a gRPC server with TLS',
    'unavailable',
    /closed the connection without a reply: it probably expects TLS/,
  ],
  [
    GRPC_TLS,
    'a gRPC server with TLS',
    'unavailable',
    /is not trusted: set otlp_certificate to its CA certificate/,
  ],
  [
    HTTP,
    'a web server that has no such path',
    'refused',
    /^the path for OTLP metrics is usually \/v1\/metrics, but the endpoint has \/:/,
    { path: '/' },
  ],
  [
    HTTP,
    'a web server that has no such path',
    'refused',
    /^127\.0\.0\.1:\d+\/v1\/metrics does not accept OTLP metrics: /,
  ],
  [HTTP, 'a backend that wants credentials', 'refused', /otlp_headers \(HTTP 401 Unauthorized\)$/],
  [HTTP, 'a proxy', 'unavailable', /^a proxy answered instead of the backend/],
  [GRPC, 'a proxy with HTTP/2', 'unavailable', /^a proxy answered instead of the backend/],
];

async function reasonTo(t: TestContext, [[protocol, scheme], to, kind, , { path, trusting } = {}]: Case) {
  const { port, stop } = await SERVERS[to]();
  t.after(stop);
  const endpoint = `${scheme}://127.0.0.1:${port}${protocol === 'grpc' ? '' : (path ?? '/v1/metrics')}`;
  const certificateFile = trusting ? files.caFile : undefined;
  const exporter = exporterOf(t, exporterSettings(protocol, endpoint, { certificateFile }));
  assert.equal(exporter.backend, `${endpoint.replace(/\/$/, '')} (${protocol})`);
  const result = await exporter.export(sampleMetrics());
  assert.equal(result.kind, kind, JSON.stringify(result));
  return 'reason' in result ? result.reason : '';
}

for (const asked of CASES) {
  const [by, to, , says, { path = '', trusting } = {}] = asked;
  const how = `${by.join(' by ')}${path}${trusting ? ', whose authority is trusted' : ''}`;
  test(`${how} to ${to}: ${says.source}`, async (t) => {
    assert.match(await reasonTo(t, asked), says);
  });
}

test('an unknown host name is reported as such', async (t) => {
  for (const [protocol, path] of [
    ['grpc', ''],
    ['http/json', '/v1/metrics'],
  ] as const) {
    const endpoint = `http://collector.invalid:4317${path}`;
    const result = await exporterOf(t, exporterSettings(protocol, endpoint)).export(sampleMetrics());
    assert.match(
      'reason' in result ? result.reason : '',
      /^the host name of collector\.invalid:4317 cannot be resolved: /u,
    );
  }
});

test('a password in the endpoint is never shown', async (t) => {
  const { port, stop } = await webServer(() =>
    http.createServer((request, response) => {
      const [, sent = ''] = (request.headers.authorization ?? '').split(' ');
      response.statusCode = 401;
      response.setHeader('content-type', 'text/plain');
      response.end(`me:hunt er2 = hunt%20er2 = ${Buffer.from(sent, 'base64')}`);
    }),
  )();
  t.after(stop);
  const endpoint = `http://me:hunt%20er2@127.0.0.1:${port}/v1/metrics`;
  const exporter = exporterOf(t, exporterSettings('http/json', endpoint));
  const result = await exporter.export(sampleMetrics());
  assert.match(JSON.stringify(result), /HTTP 401 Unauthorized: me:\*\*\* = \*\*\* = me:\*\*\*/u);
  assert.doesNotMatch(exporter.backend, /hunt|me:/u);
});

test('an aborted handshake suggests neither a certificate that is set nor plain text', async (t) => {
  const { port, stop } = await webServer(() => createServer((socket) => socket.destroy()))();
  t.after(stop);
  const set = {
    clientCertificateFile: files.certFile,
    clientKeyFile: files.keyFile,
    headers: { 'x-token': 'hunter2' },
  };
  for (const protocol of ['grpc', 'http/json'] as const) {
    const reasonWith = async (more: Partial<ExporterSettings>) => {
      const settings = exporterSettings(protocol, `https://127.0.0.1:${port}/v1/metrics`, more);
      return JSON.stringify(await exporterOf(t, settings).export(sampleMetrics()));
    };
    assert.match(await reasonWith({}), /probably it requires otlp_client_certificate.*write http:/u);
    const reason = await reasonWith(set);
    assert.match(reason, /probably it does not trust otlp_client_certificate/u);
    assert.doesNotMatch(reason, /http:/u);
  }
});
