/** Addresses by their protocol (OTLP exporter specification). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  defaultEndpoint,
  type EndpointOf,
  OTLP_PROTOCOLS,
  otlpAddress,
  readEndpoint,
} from '../../../src/config/format/otlp-endpoint.ts';
import { SIGNAL_NAMES } from '../../../src/otlp/signal-paths.ts';

type Cases = {
  readonly good: readonly (readonly [text: string, endpoint: string])[];
  readonly bad: readonly string[];
};

const GRPC: Cases = {
  good: [
    ['http://localhost:4317', 'http://localhost:4317'],
    ['HTTP://collector:4317/', 'http://collector:4317'],
    ['https://api.example.com', 'https://api.example.com'],
    ['http://[::1]:4317', 'http://[::1]:4317'],
    ['collector:4317', 'collector:4317'],
    ['collector:80', 'collector:80'],
    ['http://collector:80', 'http://collector:80'],
    ['unix:///run/otlp.sock', 'unix:///run/otlp.sock'],
    ['dns:///collector:4317', 'dns:///collector:4317'],
    ['DNS:///[::1]:4317', 'dns:///[::1]:4317'],
  ],
  bad: [
    'http://collector',
    'collector',
    'http://',
    'http://collector:99999',
    'http://collector:4317/v1/metrics',
    'http://collector:4317?a=b',
    'http://collector:4317#a',
    'http://me:secret@collector:4317',
    'ftp://collector:4317',
    'http://coll\nector:4317',
    'unix://',
    'dns://collector:4317',
    'dns:///collector',
    'dns:///8.8.8.8/collector:4317',
    'dns:///http://collector:4317',
    '::1:4317',
  ],
};

const HTTP: Cases = {
  good: [
    ['http://localhost:4318/v1/metrics', 'http://localhost:4318/v1/metrics'],
    ['HTTPS://Api.example.com/Otlp', 'https://api.example.com/Otlp'],
    ['http://collector:4318', 'http://collector:4318/'],
    ['http://collector:80/v1/metrics', 'http://collector/v1/metrics'],
    ['http://[::1]:4318/x', 'http://[::1]:4318/x'],
    ['https://collector/x?key=1', 'https://collector/x?key=1'],
  ],
  bad: [
    'collector:4318',
    'http://',
    'http:collector',
    'http://collector:99999',
    'http://me:secret@collector/v1/metrics',
    'http://me@collector/v1/metrics',
    'http://collector/#a',
    'ftp://collector/v1/metrics',
    'unix:///run/otlp.sock',
    'http://coll\nector/',
    'http://collector/a b',
  ],
};

const BASE: Cases = {
  good: [
    ['http://localhost:4318', 'http://localhost:4318/v1/metrics'],
    ['http://localhost:4318/', 'http://localhost:4318/v1/metrics'],
    ['https://collector/my/otlp', 'https://collector/my/otlp/v1/metrics'],
    ['https://collector/my/otlp/', 'https://collector/my/otlp/v1/metrics'],
  ],
  bad: [...HTTP.bad, 'https://collector/x?key=1'],
};

test('each protocol accepts its own addresses, and normalises them', () => {
  for (const [protocol, of, cases] of [
    ['grpc', 'signal', GRPC],
    ['grpc', 'all', GRPC],
    ['grpc', 'metrics', GRPC],
    ['http/protobuf', 'signal', HTTP],
    ['http/json', 'signal', HTTP],
    ['http/json', 'metrics', HTTP],
    ['http/protobuf', 'all', BASE],
    ['http/json', 'all', BASE],
  ] as const) {
    const read = (text: string) => readEndpoint(protocol, text, of);
    for (const [text, value] of cases.good) assert.deepEqual(read(text), { ok: true, value }, text);
    for (const text of cases.bad) {
      const reading = read(text);
      assert.ok(!reading.ok, `${protocol} takes ${text}`);
      assert.match(
        reading.expected,
        protocol === 'grpc' ? /^http:\/\/host:port,/ : /^http:\/\/host\[:port\]\/path/,
      );
    }
  }
});

test('the default of each protocol and signal is a valid address', () => {
  for (const protocol of OTLP_PROTOCOLS) {
    for (const signal of SIGNAL_NAMES) {
      const value = defaultEndpoint(protocol, signal);
      assert.deepEqual(readEndpoint(protocol, value, 'signal', signal), { ok: true, value });
    }
  }
  assert.equal(defaultEndpoint('http/json', 'logs'), 'http://localhost:4318/v1/logs');
});

test('the path of traces is appended to the endpoint of all signals, and replaces that of metrics', () => {
  const read = (text: string, of: EndpointOf) => readEndpoint('http/protobuf', text, of, 'traces');
  const right = (value: string) => ({ ok: true, value });
  assert.deepEqual(read('http://c/x/', 'all'), right('http://c/x/v1/traces'));
  assert.deepEqual(read('http://c/x/v1/metrics', 'metrics'), right('http://c/x/v1/traces'));
  assert.deepEqual(
    read('http://c/v1/metrics?k=/v1/metrics', 'metrics'),
    right('http://c/v1/traces?k=/v1/metrics'),
  );
  assert.deepEqual(read('http://c/x', 'signal'), right('http://c/x'));
  for (const text of ['http://c/x', 'http://c/v1/metrics/', 'http://c?x=/v1/metrics'])
    assert.match(
      JSON.stringify(read(text, 'metrics')),
      /\/v1\/metrics at its end, which becomes \/v1\/traces/,
    );
});

test('credentials and queries are not shown', () => {
  const { show } = otlpAddress;
  assert.equal(show('http://collector:1/x'), '"http://collector:1/x"');
  for (const text of [
    'http://me:hunter2@collector:1',
    'https://collector/x?key=hunter2',
    'hunter2@collector',
  ]) {
    assert.ok(!show(text).includes('hunter2'), show(text));
  }
});
