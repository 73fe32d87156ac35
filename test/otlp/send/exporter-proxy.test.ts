/** Exports go through the proxy that the settings name, with its user and password, and nowhere else. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../until.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { startForwardProxy, USER } from './forward-proxy.ts';
import { listenOnLoopback } from './loopback-server.ts';
import { certificates, serverOf } from './tls-files.ts';

/** Node’s own proxies came with these versions. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const HTTP_CAN = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);

async function proxyOf(t: TestContext) {
  const proxy = await startForwardProxy();
  t.after(() => proxy.stop());
  return proxy;
}

for (const { protocol, start } of BACKENDS) {
  if (protocol !== 'grpc' && !HTTP_CAN) {
    test(`${protocol}: with this Node a proxy is refused at the start`, (t) => {
      const settings = exporterSettings(protocol, 'http://127.0.0.1:1/', { proxy: 'http://127.0.0.1:2' });
      assert.throws(() => exporterOf(t, settings), /Node 22\.21/u);
    });
    continue;
  }

  test(`${protocol}: requests go through the proxy`, async (t) => {
    const proxy = await proxyOf(t);
    const backend = await backendOf(t, start);
    const settings = { proxy: `http://${USER}@127.0.0.1:${proxy.port}/` };
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, settings));
    for (let turn = 0; turn < 2; turn += 1)
      assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
    assert.equal(backend.requests.length, 2);
    assert.ok(proxy.targets.every((target) => target.includes(`127.0.0.1:${backend.port}`)));
    assert.ok(proxy.targets.length > 0);
    assert.match(exporter.backend, new RegExp(`through the proxy 127\\.0\\.0\\.1:${proxy.port}$`, 'u'));
    await proxy.stop();
    // That of the connection which breaks.
    await exporter.export(sampleMetrics());
    const failed = await exporter.export(sampleMetrics());
    assert.match('reason' in failed ? failed.reason : '', /the proxy 127\.0\.0\.1:\d+ makes no connection/u);
  });

  test(`${protocol}: with TLS the proxy sees nothing, and the certificate of the backend is checked`, async (t) => {
    const proxy = await proxyOf(t);
    const files = certificates(t);
    const backend = await backendOf(t, start, { tls: serverOf(files) });
    const through = { proxy: `http://${USER}@127.0.0.1:${proxy.port}/` };
    const trusting = { ...through, certificateFile: files.caFile };
    const known = exporterOf(t, exporterSettings(protocol, backend.endpoint, trusting));
    assert.deepEqual(await known.export(sampleMetrics()), { kind: 'success' });
    assert.deepEqual(new Set(proxy.targets), new Set([`CONNECT 127.0.0.1:${backend.port}`]));
    const doubting = exporterOf(t, exporterSettings(protocol, backend.endpoint, through));
    const doubted = await doubting.export(sampleMetrics());
    assert.match('reason' in doubted ? doubted.reason : '', /certificate/u);
  });

  test(`${protocol}: a proxy that wants another password is named, and the password is not`, async (t) => {
    const proxy = await proxyOf(t);
    const backend = await backendOf(t, start, { tls: serverOf(certificates(t)) });
    const settings = { proxy: `http://exporter:hunter2@127.0.0.1:${proxy.port}/`, timeoutMs: 2000 };
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, settings));
    const refused = await exporter.export(sampleMetrics());
    assert.equal(refused.kind, 'unavailable');
    const reason = 'reason' in refused ? refused.reason : '';
    assert.doesNotMatch(reason + exporter.backend, /hunter2/u);
    assert.match(reason, /the proxy 127\.0\.0\.1:\d+ makes no connection to 127/u);
    assert.equal(backend.requests.length, 0);
  });

  test(`${protocol}: a proxy that never answers keeps no connections`, async (t) => {
    const silent = createServer((socket) => socket.resume().on('error', () => undefined));
    const proxy = await listenOnLoopback(silent, {});
    t.after(() => proxy.stop());
    const through = { proxy: `http://127.0.0.1:${proxy.port}/`, timeoutMs: 200 };
    const exporter = exporterOf(t, exporterSettings(protocol, 'https://otel.example:4317', through));
    for (let turn = 0; turn < 3; turn += 1)
      assert.equal((await exporter.export(sampleMetrics())).kind, 'unavailable');
    assert.ok(proxy.accepted() > 0);
    exporter.close();
    await until('no connection is left', () => proxy.connections() === 0);
  });
}
