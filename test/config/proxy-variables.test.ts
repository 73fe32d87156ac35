/** The variables of the environment for proxies, as curl, Go and gRPC read them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import { sources } from './sources.ts';

const GRPC = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.example:4317' };
const HTTPS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
};
const HTTP = { ...HTTPS, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://10.1.2.3:4318' };
const NAME = { OTEL_EXPORTER_OTLP_ENDPOINT: 'otel.example:4317' };
const RESOLVED = { OTEL_EXPORTER_OTLP_ENDPOINT: 'dns:///otel.example:4317' };

/** The proxy of the exports of metrics, or the mistakes. */
function proxyWith(env: Readonly<Record<string, string>>): string | undefined {
  const loaded = loadConfig(sources('run', { env }));
  return loaded.ok ? loaded.config.otlp.exporter.proxy : loaded.mistakes.map(describeMistake).join();
}

const P = 'http://proxy:3128';
const ROWS: readonly [what: string, env: Record<string, string>, proxy: string | undefined][] = [
  ['none', GRPC, undefined],
  ['an empty one', { ...GRPC, grpc_proxy: ' ' }, undefined],
  ...['grpc_proxy', 'https_proxy', 'http_proxy', 'GRPC_PROXY', 'HTTPS_PROXY', 'HTTP_PROXY'].flatMap((name) =>
    [GRPC, NAME, RESOLVED].map(
      (of) => [`${name} for gRPC`, { ...of, [name]: P }, `${P}/`] as [string, Record<string, string>, string],
    ),
  ),
  ['that of gRPC first', { ...GRPC, http_proxy: 'http://other', grpc_proxy: P }, `${P}/`],
  ['lower case first', { ...GRPC, HTTP_PROXY: 'http://other', http_proxy: P }, `${P}/`],
  ['https_proxy for https', { ...HTTPS, https_proxy: P, http_proxy: 'http://other' }, `${P}/`],
  ['http_proxy not for https', { ...HTTPS, http_proxy: P }, undefined],
  ['http_proxy for http', { ...HTTP, http_proxy: P }, `${P}/`],
  ['a proxy with TLS', { ...HTTPS, HTTPS_PROXY: 'https://u:p@proxy' }, 'https://u:p@proxy/'],
  ['no scheme', { ...GRPC, http_proxy: 'u:p@proxy:3128' }, 'http://u:p@proxy:3128/'],
  ['on this machine', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4317', http_proxy: P }, undefined],
  ['on this machine', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317', http_proxy: P }, undefined],
  ['on this machine', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://[::1]:4317', http_proxy: P }, undefined],
  ['by default', { http_proxy: P }, undefined],
  ['a socket', { OTEL_EXPORTER_OTLP_ENDPOINT: 'unix:///run/otel', http_proxy: P }, undefined],
  ...['*', 'a, otel.example', 'example', '.example', '*.example', 'otel.example:4317', 'OTEL.example.'].map(
    (text): [string, Record<string, string>, undefined] => [
      `except ${text}`,
      { ...GRPC, http_proxy: P, no_proxy: text },
      undefined,
    ],
  ),
  ...['other', 'ample', 'otel.example:4318', 'x.otel.example', '/', '10.0.0.0/33', ','].map(
    (text): [string, Record<string, string>, string] => [
      `not except ${text}`,
      { ...GRPC, http_proxy: P, NO_PROXY: text },
      `${P}/`,
    ],
  ),
  ...[
    'http://u:pa%ss@proxy:1',
    'http://u:12#34@proxy:1',
    'u:12?34@proxy:1',
    'http://proxy/path',
    'http://',
  ].map((text): [string, Record<string, string>, string] => [
    'a proxy that cannot be meant',
    { ...GRPC, grpc_proxy: text },
    'environment (grpc_proxy): expected http://[user:password@]host:port for exports over gRPC, with special characters percent-encoded; name the backend in no_proxy to reach it without a proxy',
  ]),
  ['except a network and its port', { ...HTTP, http_proxy: P, no_proxy: '10.0.0.0/8:4318, x' }, undefined],
  ['not except a port of all', { ...HTTP, http_proxy: P, no_proxy: '*:4317' }, `${P}/`],
  ['except a network', { ...HTTP, http_proxy: P, no_proxy: '10.0.0.0/8' }, undefined],
  ['not except a network', { ...HTTP, http_proxy: P, no_proxy: '10.1.2.0/31' }, `${P}/`],
  ['no_grpc_proxy', { ...GRPC, http_proxy: P, no_proxy: 'x', no_grpc_proxy: 'example' }, undefined],
  [
    'a proxy with TLS for gRPC',
    { ...GRPC, https_proxy: 'https://u:hunter2@proxy' },
    'environment (https_proxy): expected http://[user:password@]host:port for exports over gRPC, with special characters percent-encoded; name the backend in no_proxy to reach it without a proxy',
  ],
  [
    'another kind of proxy',
    { ...HTTP, HTTP_PROXY: 'socks5://hunter2' },
    'environment (HTTP_PROXY): expected http://[user:password@]host:port or https://[user:password@]host:port for exports over HTTP, with special characters percent-encoded; name the backend in no_proxy to reach it without a proxy',
  ],
];

for (const [what, env, expected] of ROWS)
  test(`${what}: ${JSON.stringify(env)}`, () => assert.equal(proxyWith(env), expected));

test('each signal has the proxy of its own backend', () => {
  const env = {
    ...GRPC,
    ...{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp', http_proxy: P, no_proxy: 'logs.example' },
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs.example:4317',
  };
  const loaded = loadConfig(sources('run', { env }));
  assert.ok(loaded.ok);
  assert.equal(loaded.config.traces?.exporter.proxy, `${P}/`);
  assert.equal(loaded.config.logs?.exporter.proxy, undefined);
});
