/** The example is a valid configuration file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { OPTIONS, servicePath, serviceRows } from '../../../src/config/options.ts';
import { assertGeneratedFile } from '../../contract/generated-block.ts';
import {
  configOf,
  EXAMPLE,
  EXAMPLE_FILE,
  EXAMPLE_WITH_TRACES,
  METER_PROVIDER,
  setVariables,
} from '../configuration-files.ts';
import { FILES } from '../option-cases.ts';
import { configOutside } from '../signal-files.ts';

test('it loads with its variables set: three services on their own brokers, with views', (t) => {
  setVariables(t, {
    SHOP_BROKER_URL: 'amqp://shop',
    BILLING_BROKER_URL: 'amqp://billing',
    STOCK_BROKER_URL: 'sentinel://a;sentinel://b',
    STOCK_SENTINEL_PASSWORD: 'hunter2',
  });
  const { services, otlp } = configOf(EXAMPLE);
  assert.deepEqual(
    services.map(({ name, broker }) => [name, ...broker.urls.map(({ label }) => label)]),
    [
      ['shop', 'amqp://guest:***@shop:5672//'],
      ['billing', 'amqps://guest:***@billing:5671//', 'amqps://guest:***@127.0.0.1:5673//'],
      ['stock', 'sentinel://a:26379,b:26379/0'],
    ],
  );
  assert.equal(otlp.streams.views.length, 2);
});

test('with what is a comment in it, it has traces and log records too', (t) => {
  setVariables(t, {
    SHOP_BROKER_URL: 'amqp://shop',
    BILLING_BROKER_URL: 'amqp://billing',
    STOCK_BROKER_URL: 'sentinel://a;sentinel://b',
    STOCK_SENTINEL_PASSWORD: 'hunter2',
  });
  const { traces, logs, ...others } = configOf(EXAMPLE_WITH_TRACES);
  assert.deepEqual(configOf(EXAMPLE), others);
  assert.equal(traces?.settings.sampler.kind, 'rule_based');
  assert.equal(traces.settings.slowAfterMs, 60_000);
  assert.equal(logs?.settings.minimumSeverity, 13);
  assert.deepEqual(traces.exceptions.redact, [/\b\d{16}\b/gu]);
  assert.deepEqual(traces.exceptions.redactNames, ['licence', '*_handle']);
});

const DOCUMENT = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');

test('traces and logs in docs/configuration.md are the same in the file and in variables', () => {
  const [, section = ''] = /^## Traces and logs$([\s\S]*?)^## /mu.exec(DOCUMENT) ?? [];
  const [, file = ''] = /```yaml\n([\s\S]*?)```/u.exec(section) ?? [];
  const [, lines = ''] = /```sh\n([\s\S]*?)```/u.exec(section) ?? [];
  const services = '  services: { shop: { broker_url: amqp://rabbit } }';
  const { traces } = configOf(
    `file_format: "1.0"\n${METER_PROVIDER}\n${file.replace('celery:', `$&\n${services}`)}`,
  );
  const outside = configOutside(
    Object.fromEntries(
      lines
        .trim()
        .split('\n')
        .map((line) => /^(\w+)=(.*)$/u.exec(line)?.slice(1) ?? []),
    ),
  );
  assert.deepEqual(outside.traces?.settings, traces?.settings);
  assert.equal(outside.traces?.exporter.endpoint, traces?.exporter.endpoint);
  assert.equal(outside.logs?.exporter.endpoint, 'http://logs:4317');
});

test('the example in docs/configuration.md loads too', (t) => {
  setVariables(t, { SHOP_BROKER_URL: 'amqp://shop' });
  const [, text = ''] = /## One configuration file[\s\S]*?```yaml\n([\s\S]*?)```/.exec(DOCUMENT) ?? [];
  const { services } = configOf(text.replace('/etc/ssl/rabbit.pem', FILES.certificate));
  assert.deepEqual(
    services.map(({ name }) => name),
    ['shop', 'billing'],
  );
});

test('it has every option of services, with an explanation and the default (UPDATE=1 rewrites them)', () => {
  const lines = EXAMPLE.split('\n');
  for (const [key, { doc, default: byDefault }] of [
    ...serviceRows(),
    ['enabled', OPTIONS.self_telemetry] as const,
  ]) {
    const name = key === 'enabled' ? key : servicePath(key).at(-1);
    const index = lines.findIndex((line) => line.trim().startsWith(`${name}: `));
    assert.ok(index > 0, key);
    const indent = lines[index]?.replace(/\S.*/, '') ?? '';
    lines[index - 1] = `${indent}# ${doc}`;
    if (byDefault !== undefined) lines[index] = `${indent}${name}: ${byDefault}`;
  }
  assertGeneratedFile(EXAMPLE_FILE, lines.join('\n'));
});
