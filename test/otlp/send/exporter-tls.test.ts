/** Backends that speak TLS: whom an exporter trusts, and how it shows who it is. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createExporter } from '../../../src/otlp/send/create-exporter.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { certificates, serverOf } from './tls-files.ts';

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: a backend is trusted only with the configured CA`, async (t) => {
    const files = certificates(t);
    const backend = await backendOf(t, start, { tls: serverOf(files) });
    const trusting = exporterSettings(protocol, backend.endpoint, { certificateFile: files.caFile });
    assert.deepEqual(await exporterOf(t, trusting).export(sampleMetrics()), { kind: 'success' });
    const doubted = await exporterOf(t, exporterSettings(protocol, backend.endpoint)).export(sampleMetrics());
    assert.equal(doubted.kind, 'unavailable');
    assert.match('reason' in doubted ? doubted.reason : '', /certificate/u);
    assert.equal(backend.requests.length, 1);
  });

  test(`${protocol}: a certificate for another host is not accepted`, async (t) => {
    const files = certificates(t);
    const host = '127.0.0.2';
    const backend = await backendOf(t, start, { host, tls: serverOf(files) });
    const settings = exporterSettings(protocol, backend.endpoint, { certificateFile: files.caFile });
    const result = await exporterOf(t, settings).export(sampleMetrics());
    assert.equal(result.kind, 'unavailable');
    assert.match('reason' in result ? result.reason : '', /127\.0\.0\.2/u);
    assert.equal(backend.requests.length, 0);
  });

  test(`${protocol}: a client certificate is sent if the backend requires one`, async (t) => {
    const files = certificates(t);
    const { caFile: certificateFile, certFile, keyFile } = files;
    const demanding = { ...serverOf(files), ca: readFileSync(certificateFile), requestCert: true };
    const backend = await backendOf(t, start, { tls: demanding });
    const client = { clientCertificateFile: certFile, clientKeyFile: keyFile };
    const known = exporterSettings(protocol, backend.endpoint, { certificateFile, ...client });
    assert.deepEqual(await exporterOf(t, known).export(sampleMetrics()), { kind: 'success' });
    const stranger = exporterSettings(protocol, backend.endpoint, { certificateFile, timeoutMs: 2000 });
    assert.equal((await exporterOf(t, stranger).export(sampleMetrics())).kind, 'unavailable');
    assert.equal(backend.requests.length, 1);
  });

  test(`${protocol}: the files are read when the exporter is built, and never again`, async (t) => {
    const files = certificates(t);
    const { caFile: certificateFile, certFile, keyFile } = files;
    const demanding = { ...serverOf(files), ca: readFileSync(certificateFile), requestCert: true };
    const first = await backendOf(t, start, { tls: demanding });
    const client = { clientCertificateFile: certFile, clientKeyFile: keyFile };
    const exporter = exporterOf(
      t,
      exporterSettings(protocol, first.endpoint, { certificateFile, ...client }),
    );
    rmSync(files.folder, { recursive: true });
    assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
    await first.stop();
    assert.equal((await exporter.export(sampleMetrics())).kind, 'unavailable');
    await backendOf(t, start, { tls: demanding, port: first.port });
    assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' }, 'over a new connection');
  });

  test(`${protocol}: an unusable file is a configuration mistake`, (t) => {
    const { certFile, keyFile, folder } = certificates(t);
    const noPem = join(folder, 'no.pem');
    writeFileSync(noPem, '-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n');
    const mistakes = [
      { certificateFile: join(folder, 'missing.pem') },
      { clientCertificateFile: noPem, clientKeyFile: keyFile },
      { clientCertificateFile: certFile },
      { clientKeyFile: keyFile },
      { clientCertificateFile: certFile, clientKeyFile: certFile },
    ];
    for (const mistake of mistakes) {
      const settings = exporterSettings(protocol, 'https://127.0.0.1:4317', mistake);
      assert.throws(
        () => createExporter(settings, SIGNALS.metrics),
        { code: 'CONFIG_INVALID' },
        JSON.stringify(mistake),
      );
    }
    const plain = exporterSettings(protocol, 'http://127.0.0.1:4317', mistakes[0]);
    exporterOf(t, plain);
  });
}
