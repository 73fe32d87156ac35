/** `meter_provider`: endpoint, interval and format. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../src/config/config.ts';
import { configOf, mistakesOf, withMeterProvider } from '../configuration-files.ts';
import { FILES } from '../option-cases.ts';
import { configOutside } from '../signal-files.ts';

/** With more of the reader on line 5, and of the exporter on line 7. */
const meterProvider = (exporter: string, more = '', reader = '') =>
  withMeterProvider(`  readers:
    - periodic: { ${reader || 'interval:'},
        exporter: { ${exporter}: {
          ${more}
        } } }`);

const otlp = (...parts: Parameters<typeof meterProvider>): Config['otlp'] =>
  configOf(meterProvider(...parts)).otlp;

test('missing keys have the defaults of the variables', () => {
  assert.deepEqual(otlp('otlp_grpc'), configOutside({}).otlp);
  const http = configOutside({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' });
  assert.deepEqual(otlp('otlp_http'), http.otlp);
});

test('every exporter setting is read', () => {
  const both = `headers: [ { name: X-Key, value: a }, { name: b, value: }, { name: c, value: list } ],
          headers_list: "c=less,d=e", compression: gzip, timeout: 5000, temporality_preference: low_memory,
          default_histogram_aggregation: base2_exponential_bucket_histogram`;
  const tls = `tls: { ca_file: ${FILES.certificate}, cert_file: ${FILES.certificate}, key_file: ${FILES.key}`;
  const expected = {
    headers: { 'x-key': 'a', c: 'list', d: 'e' },
    certificateFile: FILES.certificate,
    clientCertificateFile: FILES.certificate,
    clientKeyFile: FILES.key,
    compression: 'gzip',
    timeoutMs: 5000,
  };
  const grpc = otlp('otlp_grpc', `endpoint: "collector:4317", ${both}, ${tls}, insecure: false }`);
  assert.deepEqual(grpc.exporter, {
    ...expected,
    protocol: 'grpc',
    endpoint: 'collector:4317',
    insecure: false,
  });
  const plain = otlp('otlp_grpc', 'endpoint: "collector:4317", tls: { insecure: true }');
  assert.equal(plain.exporter.insecure, true);
  assert.equal(grpc.streams.temporality, 'lowmemory');
  assert.equal(grpc.streams.histograms, 'base2_exponential_bucket_histogram');
  const http = otlp('otlp_http', `endpoint: "HTTPS://collector/otlp?x=1", encoding: json, ${both}, ${tls} }`);
  assert.deepEqual(http.exporter, {
    ...expected,
    protocol: 'http/json',
    endpoint: 'https://collector/otlp?x=1',
    insecure: false,
  });
});

test('a time-out of 0 means the export interval, and none is longer', () => {
  assert.equal(otlp('otlp_grpc', '', 'interval: 20000, timeout: 0').schedule.timeoutMs, 20_000);
  assert.equal(otlp('otlp_grpc', 'timeout: 0', 'interval: 20000, timeout: 7000').exporter.timeoutMs, 7000);
  assert.deepEqual(otlp('otlp_grpc', '', 'interval: 20000').schedule.timeoutMs, 20_000);
  assert.deepEqual(mistakesOf(meterProvider('otlp_grpc', '', 'interval: 1000, timeout: 1001')), [
    'meter_provider.readers[0].periodic.timeout (f:5) is "1001": expected at most the interval (1000 ms)',
  ]);
});

test('limits are per instrument kind, else the default, else 2000, and at least two', () => {
  const limits = (text: string) => otlp('otlp_grpc', '', `cardinality_limits: { ${text} }`).streams.limits;
  assert.deepEqual(limits('counter: 5'), { counter: 5, histogram: 2000, gauge: 2000 });
  assert.deepEqual(limits('default: 7, histogram: 9, observable_gauge: 8'), {
    counter: 7,
    histogram: 9,
    gauge: 8,
  });
  for (const limit of ['1', '0', '1000001', '2.5', '"many"']) {
    const [mistake] = mistakesOf(meterProvider('otlp_grpc', '', `cardinality_limits: { counter: ${limit} }`));
    assert.match(
      mistake ?? '',
      /cardinality_limits\.counter \(f:5\) is .*: expected a whole number from 2 to 1000000/,
    );
  }
});

test('a client certificate requires its key and the reverse, and files must exist', () => {
  const tls = (text: string) =>
    mistakesOf(meterProvider('otlp_http', `endpoint: "https://c", tls: { ${text} }`));
  const at = 'meter_provider.readers[0].periodic.exporter.otlp_http.tls';
  assert.deepEqual(tls(`key_file: ${FILES.key}`), [
    `${at}.cert_file (f:7): expected a value: the path of a PEM file with a certificate, because a key is set`,
  ]);
  assert.deepEqual(tls(`cert_file: ${FILES.certificate}`), [
    `${at}.key_file (f:7): expected a value: the path of a PEM file with a private key without a passphrase, because a certificate is set`,
  ]);
  assert.match(tls(`ca_file: ${FILES.missing}`).join('\n'), /ca_file \(f:7\) is .* cannot be read: ENOENT/);
});

test('TLS files for an endpoint without TLS are a mistake', () => {
  const file = `tls: { ca_file: ${FILES.certificate}`;
  for (const [exporter, settings] of [
    ['otlp_grpc', `${file} }`],
    ['otlp_grpc', `endpoint: "http://c:4317", ${file} }`],
    ['otlp_grpc', `endpoint: "c:4317", ${file}, insecure: true }`],
    ['otlp_http', `endpoint: "HTTP://c", ${file} }`],
  ] as const) {
    const at = `meter_provider.readers[0].periodic.exporter.${exporter}.tls.ca_file`;
    assert.deepEqual(mistakesOf(meterProvider(exporter, settings)), [
      `${at} (f:7): expected no file, because the endpoint does not use TLS`,
    ]);
  }
});

test('insecure applies to an endpoint without a scheme, and must not contradict one', () => {
  const tls = (endpoint: string, insecure: boolean) =>
    meterProvider('otlp_grpc', `${endpoint}tls: { insecure: ${insecure} }`);
  for (const [endpoint, insecure, expected] of [
    ['', false, 'true, because the endpoint is http:'],
    ['endpoint: "http://c:4317", ', false, 'true, because the endpoint is http:'],
    ['endpoint: "HTTPS://c:4317", ', true, 'false, because the endpoint is https:'],
  ] as const) {
    assert.deepEqual(mistakesOf(tls(endpoint, insecure)), [
      `meter_provider.readers[0].periodic.exporter.otlp_grpc.tls.insecure (f:7): expected ${expected}`,
    ]);
    configOf(tls(endpoint, !insecure));
  }
});

test('a header is set only once, ignoring case', () => {
  const headers = 'headers: [ { name: api-key, value: one }, { name: API-Key, value: two } ]';
  const [mistake, ...others] = mistakesOf(meterProvider('otlp_http', headers));
  assert.match(mistake ?? '', /headers\[1\] \(f:7\).*each header only once/u);
  assert.deepEqual(others, []);
});

test('an unset variable is a mistake anywhere in the exporter, quoted or not', () => {
  const exporter = (line: string) =>
    withMeterProvider(`  readers:
    - periodic:
        exporter:
          otlp_grpc:
            ${line}`);
  for (const line of [
    `headers: [ { name: x-key, value: "\${CELERY_OTEL_UNSET}" } ]`,
    `headers:\n              - name: x-key\n                value: \${CELERY_OTEL_UNSET}`,
    `headers_list: \${CELERY_OTEL_UNSET}`,
    `endpoint: \${CELERY_OTEL_UNSET}`,
    `endpoint: https://c\n            tls:\n              ca_file: \${CELERY_OTEL_UNSET}`,
  ]) {
    const mistakes = mistakesOf(exporter(line));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.match(mistakes[0] ?? '', /otlp_grpc\..*not set in the environment: CELERY_OTEL_UNSET/u);
  }
  assert.deepEqual(configOf(exporter(`headers_list: \${CELERY_OTEL_UNSET:-}`)).otlp.exporter.headers, {});
});

test('invalid headers are mistakes, reported without names and values', () => {
  const cases: [headers: string, fault: RegExp][] = [
    [
      'headers: [ { name: "hunter2 x", value: y } ]',
      /headers\[0\] \(f:7\): expected a valid header; .*invalid characters/,
    ],
    ['headers: [ { name: x-bin, value: hunter2 } ]', /headers\[0\] \(f:7\): .*reserved by gRPC/],
    ['headers: [ { name: x, value: "hunter2é" } ]', /headers\[0\] \(f:7\): .*not printable ASCII/],
    [
      'headers: [ { name: x, value: 2002 } ]',
      /headers\[0\]\.value \(f:7\) is "\*\*\*": expected a string, in quotes/,
    ],
    [
      'headers_list: "x=1,hunter2"',
      /headers_list \(f:7\) is "\*\*\*": expected a percent-encoded list .*entry 2 is not key=value/,
    ],
    ['headers: { x: hunter2 }', /headers \(f:7\): expected a list of maps/],
  ];
  for (const [headers, fault] of cases) {
    const said = mistakesOf(meterProvider('otlp_grpc', headers)).join('\n');
    assert.match(said, fault);
    assert.ok(!said.includes('hunter2') && !said.includes('2002'), said);
  }
});
