import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Ended, runChild } from '../../contract/child.ts';
import { DEADLINE_MS } from '../../deadline.ts';
import { makeCertificates } from '../../real/certificates.ts';
import { freePort } from '../../real/free-port.ts';
import { BACKENDS, backendOf, exporterSettings } from './exporter-backends.ts';
import type { ChildExport } from './exporter-child.ts';
import { portOf } from './loopback-server.ts';

const CHILD = fileURLToPath(import.meta.resolve('./exporter-child.ts'));
/** Of a request in a process that is to end long before. */
const LONG_MS = 2 * DEADLINE_MS;

function exportInChild(exports: readonly ChildExport[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return runChild(process.execPath, [CHILD, JSON.stringify(exports)], {
    cwd: import.meta.dirname,
    env,
    timeoutMs: DEADLINE_MS,
  });
}

/** Takes connections and never says anything. Nobody else’s client knows the port from before. */
async function silentPeer(t: TestContext): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer();
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    t.after(() => socket.destroy());
  });
  server.listen(await freePort(), '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { port: portOf(server.address()), server };
}

/**
 * Every variable that the specification, the SDK's exporters, grpc-js or Node read, and that would change an export.
 */
function telling(elsewhere: number, caFile: string): NodeJS.ProcessEnv {
  const ofEachSignal = {
    ENDPOINT: `http://127.0.0.1:${elsewhere}`,
    HEADERS: 'authorization=Bearer%20other,x-other=other',
    COMPRESSION: 'gzip',
    TIMEOUT: '1',
    CERTIFICATE: caFile,
    CLIENT_CERTIFICATE: caFile,
    CLIENT_KEY: caFile,
    INSECURE: 'true',
    PROTOCOL: 'http/json',
  };
  const proxy = `http://127.0.0.1:${elsewhere}`;
  return {
    ...Object.fromEntries(
      Object.entries(ofEachSignal).flatMap(([name, value]) => [
        [`OTEL_EXPORTER_OTLP_${name}`, value],
        [`OTEL_EXPORTER_OTLP_METRICS_${name}`, value],
      ]),
    ),
    OTEL_SDK_DISABLED: 'true',
    ...Object.fromEntries(
      ['grpc_proxy', 'http_proxy', 'https_proxy', 'all_proxy']
        .flatMap((name) => [name, name.toUpperCase()])
        .map((name) => [name, proxy]),
    ),
    NODE_USE_ENV_PROXY: '1',
    GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: caFile,
    GRPC_SSL_CIPHER_SUITES: 'none',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  };
}

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: environment variables change neither a request nor its destination, and its process ends by itself`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'celery-otel-environment-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const { caFile, certFile, keyFile } = makeCertificates(join(folder, 'tls'));
    const elsewhere = await silentPeer(t);
    let strayed = 0;
    elsewhere.server.on('connection', () => {
      strayed += 1;
    });
    const env = telling(elsewhere.port, caFile);
    const backend = await backendOf(t, start);
    const more = { headers: { 'x-team': 'a' }, timeoutMs: LONG_MS };
    const settings = exporterSettings(protocol, backend.endpoint, more);
    const trusted = { settings, isClosedUnderWay: false };
    const ended = await exportInChild([trusted]);
    assert.deepEqual(ended, { code: 0, stdout: '[{"kind":"success"}]', stderr: '' });
    const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const secure = await backendOf(t, start, { tls });
    const untrusted = { settings: exporterSettings(protocol, secure.endpoint), isClosedUnderWay: false };
    const { code, stdout, stderr } = await exportInChild([trusted, untrusted], env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\[\{"kind":"success"\},\{.*"unavailable"/u);
    const [without, within] = backend.requests;
    assert.ok(without !== undefined && within !== undefined);
    assert.deepEqual({ ...within.headers, 'grpc-timeout': '' }, { ...without.headers, 'grpc-timeout': '' });
    assert.deepEqual(within, { ...without, headers: within.headers });
    assert.equal(secure.requests.length, 0, 'nobody said that this one is to be trusted');
    assert.equal(strayed, 0);
  });

  test(`${protocol}: a process ends by itself even if a silent peer delayed its exports`, async (t) => {
    const exports: ChildExport[] = [];
    for (const scheme of ['http', 'https']) {
      for (const isClosedUnderWay of [false, true]) {
        // A peer for each: grpc-js shares what it knows of one address.
        const { port } = await silentPeer(t);
        const timeoutMs = isClosedUnderWay ? LONG_MS : 300;
        const settings = exporterSettings(protocol, `${scheme}://127.0.0.1:${port}/`, { timeoutMs });
        exports.push({ settings, isClosedUnderWay });
      }
    }
    const { code, stdout, stderr } = await exportInChild(exports);
    assert.equal(code, 0, stderr);
    const results: readonly unknown[] = JSON.parse(stdout);
    assert.equal(results.length, exports.length);
    for (const [index, { isClosedUnderWay }] of exports.entries())
      assert.match(
        JSON.stringify(results[index]),
        isClosedUnderWay ? /"unavailable".*(closed|CANCELLED)/u : /"unavailable"/u,
      );
  });
}
