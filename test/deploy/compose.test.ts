/** The example for Compose as it is written: each file in it is valid, and they agree. `compose.release.ts` runs it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { ROOT } from '../contract/sources.ts';
import { COLLECTOR_CONFIG_FILE } from '../real/otelcol.ts';
import { lint, runHere, skipWithoutLinters } from './linters.ts';

const FOLDER = 'examples/compose';
const FILE = `${FOLDER}/compose.yaml`;
const OVERRIDABLE = /^\$\{[A-Z_]+_IMAGE:-[a-z0-9./:-]+\}$/u;

/** What is looked at of a service. */
interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile?: string };
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
}

const at = (...parts: readonly string[]): string => path.join(ROOT, FOLDER, ...parts);
const { services }: { services: Readonly<Record<string, ComposeService>> } = parse(
  readFileSync(at('compose.yaml'), 'utf8'),
  { merge: true },
);
const rows = Object.entries(services);

test('the files satisfy the schema of Compose and hadolint', { skip: skipWithoutLinters() }, async () => {
  const schema = ['--builtin-schema', 'vendor.compose-spec'] as const;
  for (const judged of [
    await lint('check-jsonschema', ...schema, FILE),
    await lint('hadolint', `${FOLDER}/shop.Dockerfile`),
  ]) {
    assert.equal(judged.code, 0, judged.stdout + judged.stderr);
  }
});

test('it has all that it promises', () => {
  const on = (broker: string) => [`customer-on-${broker}`, `worker-on-${broker}`, broker];
  const around = ['celery-otel', 'collector', 'prometheus', 'jaeger', 'grafana'];
  assert.deepEqual(Object.keys(services).sort(), [...on('rabbitmq'), ...on('redis'), ...around].sort());
});

test('each image can be replaced by a variable', () => {
  for (const [name, { image }] of rows) assert.match(image, OVERRIDABLE, name);
});

test('all files that are mounted or built from are there', () => {
  for (const [name, { volumes = [], build }] of rows) {
    const mounted = volumes.map((volume) => volume.split(':')[0] ?? '');
    const built = build === undefined ? [] : [path.join(build.context, build.dockerfile ?? 'Dockerfile')];
    for (const file of [...mounted, ...built]) assert.ok(existsSync(at(file)), `${name}: ${file}`);
  }
  const [mounted = ''] = services['collector']?.volumes ?? [];
  assert.equal(at(mounted.split(':')[0] ?? ''), COLLECTOR_CONFIG_FILE);
});

test('ports are open on this machine alone', () => {
  const ports = rows.flatMap(([, service]) => service.ports ?? []);
  assert.equal(ports.length, 5);
  for (const port of ports) assert.match(port, /^127\.0\.0\.1:/u);
});

test('what is built here has no rights and writes nothing', () => {
  const built = rows.filter(([, { build }]) => build !== undefined);
  assert.equal(built.length, 5);
  for (const [name, service] of built) {
    assert.equal(service.read_only, true, name);
    assert.deepEqual(service.cap_drop, ['ALL'], name);
  }
});

test('celery-otel listens to both brokers and sends to the Collector', () => {
  const loaded = loadConfig({ argv: ['--config', at('celery-otel.yaml')], env: {} });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const { config } = loaded;
  const found = config.services.map(({ name, broker }) => [name, broker.urls[0]?.label]);
  assert.deepEqual(found, [
    ['shop-on-rabbitmq', 'amqp://shop:***@rabbitmq:5672//'],
    ['shop-on-redis', 'redis://redis:6379/1'],
  ]);
  assert.equal(config.otlp.exporter.endpoint, 'http://collector:4317');
  assert.equal(config.traces?.exporter.endpoint, 'http://collector:4317');
  assert.deepEqual(config.status?.address, { host: '0.0.0.0', port: 9909 });
});

test('Prometheus has all rules, and Grafana all dashboards', () => {
  const { rule_files }: { rule_files: readonly string[] } = parse(readFileSync(at('prometheus.yml'), 'utf8'));
  assert.deepEqual(rule_files, ['rules/*.yaml']);
  const mounts = (name: string): readonly string[] => services[name]?.volumes ?? [];
  assert.ok(mounts('prometheus').includes('../../dashboards/rules:/etc/prometheus/rules:ro'));
  const { providers }: { providers: readonly { readonly options: { readonly path: string } }[] } = parse(
    readFileSync(at('grafana/dashboards.yaml'), 'utf8'),
  );
  const [folder] = providers.map(({ options }) => options.path);
  assert.ok(mounts('grafana').includes(`../../dashboards:${folder}:ro`));
});

test('Prometheus takes its configuration, and Grafana asks it', async () => {
  const { code, stdout, stderr } = await runHere('promtool', ['check', 'config', `${FOLDER}/prometheus.yml`]);
  assert.equal(code, 0, stdout + stderr);
  const { datasources }: { datasources: readonly { readonly type: string; readonly url: string }[] } = parse(
    readFileSync(at('grafana/datasources.yaml'), 'utf8'),
  );
  assert.deepEqual(
    datasources.map(({ type, url }) => [type, url]),
    [
      ['prometheus', 'http://prometheus:9090'],
      ['jaeger', 'http://jaeger:16686'],
    ],
  );
});
