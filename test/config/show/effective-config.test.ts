/** The printed configuration: all of it except secrets, with the origin of each value. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../src/config/config.ts';
import { resolveConfig } from '../../../src/config/load-config.ts';
import { Origins } from '../../../src/config/origins.ts';
import type { OptionSources } from '../../../src/config/read-options.ts';
import { effectiveConfig } from '../../../src/config/show/effective-config.ts';
import { METRIC_NAMES, OPT_INS } from '../../../src/meter/catalog.ts';
import { VERSION } from '../../../src/self/version.ts';
import { fileWith, setVariables } from '../configuration-files.ts';
import { FILES } from '../option-cases.ts';

const SECRET = 'hunter2';

/** Sets at least one of everything. */
const FULL = `file_format: "1.0"
log_level: warn
resource: { attributes: [ { name: common, value: [a, b], type: string_array } ] }
celery:
  worker_timeout: 45.5
  telemetry: { enabled: false }
  metrics: { celery.task.*: { enabled: false }, celery.task.prefetch_time: { attributes: [celery.worker.name] } }
  services:
    "the: shop":
      broker_url: "amqp://me:${SECRET}@a?heartbeat=5;amqps://me:${SECRET}@b?ssl_cert_reqs=none"
      broker_use_ssl: { ca_certs: ${FILES.certificate}, certfile: ${FILES.certificate}, keyfile: ${FILES.key} }
      series_retention: 100
      resource: { own.text: "line\\nbreak", own.number: 5, own.flag: true }
      metrics: { celery.task.sent: { enabled: true } }
    replay: { broker_url: "recording:/a/b.ndjson?speed=2" }
    stock:
      broker_url: "sentinel://me:${SECRET}@a/3;sentinel://me:${SECRET}@b"
      broker_use_ssl: { ssl_ca_certs: ${FILES.certificate}, ssl_check_hostname: false }
      broker_transport_options:
        master_name: main
        fanout_prefix: false
        unacked_mutex_expire: 5
        sentinel_kwargs: { username: watcher, password: ${SECRET}, ssl: true, ssl_cert_reqs: none, ssl_certfile: ${FILES.certificate}, ssl_keyfile: ${FILES.key} }
meter_provider:
  readers:
    - periodic:
        interval: 20000
        max_export_batch_size/development: 500
        cardinality_limits: { default: 10, histogram: 20 }
        exporter:
          otlp_http:
            endpoint: https://collector/otlp?key=${SECRET}
            headers: [ { name: authorization, value: ${SECRET} } ]
            headers_list: x-key=${SECRET}
            tls: { ca_file: ${FILES.certificate}, cert_file: ${FILES.certificate}, key_file: ${FILES.key} }
  views:
    - selector: { instrument_name: celery.task.runtime, instrument_type: histogram, unit: s, meter_name: celery-otel, meter_version: "${VERSION}" }
      stream:
        name: renamed
        description: "d: d"
        aggregation: { explicit_bucket_histogram: { boundaries: [1, 2.5] } }
        aggregation_cardinality_limit: 77
        attribute_keys: { included: ["celery.*"], excluded: [celery.worker.name] }
    - selector: { instrument_name: celery.task.wait_time }
      stream: { aggregation: { base2_exponential_bucket_histogram: } }
    - selector: { instrument_name: celery.task.sent }
      stream: { aggregation: { drop: } }
`;

/** The same with traces and log records, of which everything is set. */
const TRACED = `${FULL.replace(
  '  telemetry:',
  '  traces: { slow_after: 10, new_trace_for: ["a.*"], service_names: ["queue:mail=mailer"] }\n  logs: { redact: [\'\\d{16}\'], redact_names: [licence, "*_handle"] }\n  telemetry:',
)}tracer_provider:
  processors:
    - batch:
        schedule_delay: 7
        exporter:
          otlp_grpc: { endpoint: "collector:1", headers: [ { name: key, value: ${SECRET} } ], headers_list: "b=${SECRET}", tls: { ca_file: ${FILES.certificate}, cert_file: ${FILES.certificate}, key_file: ${FILES.key} } }
  sampler:
    parent_based:
      root:
        composite/development:
          rule_based:
            rules:
              - { attribute_values: { key: celery.task.outcome, values: [lost] }, sampler: { always_on: } }
              - { attribute_patterns: { key: celery.task.name, included: ["a*"], excluded: [ab] }, span_kinds: [consumer], parent: [none], sampler: { probability: { ratio: 0.5 } } }
              - { sampler: { parent_threshold: { root: { probability: { ratio: 0.25 } } } } }
      remote_parent_not_sampled: { trace_id_ratio_based: { ratio: 0.125 } }
logger_provider:
  processors:
    - event_to_span_event_bridge/development:
    - batch:
        exporter: { otlp_http: { endpoint: "https://logs/x?key=${SECRET}", headers_list: "a=${SECRET}" } }
  logger_configurator/development: { default_config: { minimum_severity: warn2, trace_based: true } }
attribute_limits: { attribute_value_length_limit: 99 }
`;

function resolve(sources: OptionSources): { config: Config; origins: Origins } {
  const resolved = resolveConfig('config', sources);
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved;
}

/** Its lines, without the folder of the file. */
function linesOf(sources: OptionSources): readonly string[] {
  const { config, origins } = resolve(sources);
  return effectiveConfig(config, origins, 'all')
    .text.replaceAll(/\/\S*\/(\d+\.yaml)/g, 'f')
    .split('\n');
}

function lineOf(lines: readonly string[], path: string): string | undefined {
  return lines.find((line) => line.startsWith(`${path}: `))?.slice(path.length + 2);
}

test('every value is printed once, with its line, flag or variable, or as a default', () => {
  const lines = linesOf({
    argv: ['--config', fileWith(FULL), '--tasks-max=7'],
    env: { CELERY_OTEL_WORKERS_MAX: '8' },
  });
  const shop = 'celery.services["the: shop"]';
  const options = 'celery.services.stock.broker_transport_options';
  const reader = 'meter_provider.readers[0].periodic';
  const expected: Readonly<Record<string, string>> = {
    log_level: 'warn  # f:2',
    'resource.attributes.common': '[a, b]  # f:3',
    'celery.telemetry.enabled': 'false  # f:6',
    [`${shop}.broker_url[0]`]: 'amqps://me:***@a:5671//  # f:10',
    [`${shop}.broker_url[0].ssl.ca_certs`]: `${FILES.certificate}  # f:11`,
    [`${shop}.broker_url[1]`]: 'amqps://me:***@b:5671//  # f:10',
    [`${shop}.broker_heartbeat`]: '30  # default',
    [`${shop}.worker_timeout`]: '45.5  # f:5',
    [`${shop}.series_retention`]: '100  # f:12',
    [`${shop}.tasks_max`]: '7  # --tasks-max',
    [`${shop}.workers_max`]: '8  # CELERY_OTEL_WORKERS_MAX',
    [`${shop}.resource["service.name"]`]: '"the: shop"  # f:9',
    [`${shop}.resource["own.text"]`]: '"line\\nbreak"  # f:13',
    [`${shop}.metrics["celery.task.sent"].enabled`]: 'true  # f:14',
    [`${shop}.metrics["celery.task.failed"].enabled`]: 'false  # f:7',
    [`${shop}.metrics["celery.task.prefetch_time"].attributes`]: '[celery.worker.name]  # f:7',
    'celery.services.replay.broker_url[0]': 'recording:/a/b.ndjson  # f:15',
    'celery.services.stock.broker_url[0]': '"sentinel://me:***@a:26379,b:26379/3"  # f:17',
    [`${options}.master_name`]: 'main  # f:20',
    [`${options}.fanout_prefix`]: 'false  # f:21',
    [`${options}.sentinel_kwargs.password`]: '"***"  # f:23',
    [`${reader}.interval`]: '20000  # f:27',
    [`${reader}.cardinality_limits.histogram`]: '20  # f:29',
    [`${reader}.exporter.otlp_http.encoding`]: 'protobuf  # default',
    [`${reader}.exporter.otlp_http.endpoint`]: '"https://collector/otlp?***"  # f:32',
    [`${reader}.exporter.otlp_http.headers.authorization`]: '"***"  # f:33',
    'meter_provider.views[0].stream.aggregation.explicit_bucket_histogram.boundaries': '[1, 2.5]  # f:41',
    'meter_provider.views[0].stream.aggregation.explicit_bucket_histogram.record_min_max': 'true  # default',
    'meter_provider.views[2].stream.aggregation.drop': '{}  # default',
  };
  for (const [path, line] of Object.entries(expected)) assert.equal(lineOf(lines, path), line, path);
  for (const path of [`${options}.unacked_mutex_expire`, `${options}.global_keyprefix`]) {
    assert.equal(lineOf(lines, path), undefined);
  }
  // What is about AMQP has no effect there.
  assert.equal(lineOf(lines, 'celery.services.stock.broker_heartbeat'), undefined);
  assert.equal(lineOf(lines, `${shop}.broker_transport_options.fanout_patterns`), undefined);
  const paths = lines.map((line) => line.split(': ')[0]);
  assert.deepEqual([...new Set(lines)], lines);
  assert.ok(paths.length > 2 * METRIC_NAMES.length);
});

test('traces and log records are printed if there are some, of any exporter', () => {
  const lines = linesOf({ argv: ['--config', fileWith(TRACED), '--traces-join'], env: {} });
  const traces = 'tracer_provider.processors[0].batch';
  const logs = 'logger_provider.processors[0].batch';
  const sampler = 'tracer_provider.sampler.parent_based';
  const rules = `${sampler}.root.composite/development.rule_based.rules`;
  const configurator = 'logger_provider.logger_configurator/development.default_config';
  const expected: Readonly<Record<string, string>> = {
    [`${traces}.schedule_delay`]: '7  # f:53',
    [`${traces}.exporter.otlp_grpc.endpoint`]: 'collector:1  # f:55',
    [`${traces}.exporter.otlp_grpc.headers.key`]: '"***"  # f:55',
    'tracer_provider.limits.attribute_value_length_limit': '99  # f:72',
    'celery.traces.slow_after': '10  # f:6',
    'celery.traces.join': 'true  # --traces-join',
    'celery.traces.service_names': '["queue:mail=mailer"]  # f:6',
    [`${rules}[0].attribute_values.values`]: '[lost]  # f:62',
    [`${rules}[0].sampler.always_on`]: '{}  # f:56',
    [`${rules}[1].attribute_patterns.excluded`]: '[ab]  # f:63',
    [`${rules}[1].sampler.probability.ratio`]: '0.5  # f:63',
    // It decides as the other does.
    [`${sampler}.remote_parent_not_sampled.probability/development.ratio`]: '0.125  # f:56',
    [`${logs}.exporter.otlp_http.endpoint`]: '"https://logs/x?***"  # f:70',
    'logger_provider.processors[1].event_to_span_event_bridge/development': '{}  # f:68',
    [`${configurator}.minimum_severity`]: 'warn2  # f:71',
    'celery.logs.redact': '["\\\\d{16}"]  # f:7',
  };
  for (const [path, line] of Object.entries(expected)) assert.equal(lineOf(lines, path), line, path);
  assert.deepEqual([...new Set(lines)], lines);
  assert.ok(!lines.join('\n').includes(SECRET));
});

test('with traces alone, it is printed what they say of exceptions; and what runs are kept, from which variable', () => {
  const lines = linesOf({
    argv: ['--logs-redact=a|b', '--logs-redact-names=licence'],
    env: {
      CELERY_BROKER_URL: 'amqp://a',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5',
      CELERY_OTEL_TRACES_KEEP: 'slow',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: `a=${SECRET}`,
    },
  });
  const rules = 'tracer_provider.sampler.composite/development.rule_based.rules';
  const expected: Readonly<Record<string, string>> = {
    'celery.logs.redact': '["a|b"]  # --logs-redact',
    'celery.logs.redact_names': '[licence]  # --logs-redact-names',
    [`${rules}[0].attribute_values.key`]: 'celery.task.slow  # CELERY_OTEL_TRACES_KEEP',
    [`${rules}[1].sampler.probability.ratio`]: '0.5  # OTEL_TRACES_SAMPLER + OTEL_TRACES_SAMPLER_ARG',
    'tracer_provider.processors[0].batch.exporter.otlp_grpc.headers.a':
      '"***"  # OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  };
  for (const [path, line] of Object.entries(expected)) assert.equal(lineOf(lines, path), line, path);
  assert.equal(lineOf(lines, 'celery.logs.workers'), undefined);
});

test('with a recording, no broker settings are printed', () => {
  const lines = linesOf({ argv: ['--config', fileWith(FULL)], env: {} });
  const reported = lines.filter((line) =>
    /^celery\.services\.replay\.(broker|event|control_e|task_d)/.test(line),
  );
  assert.deepEqual(
    reported.map((line) => line.split(': ')[0]),
    ['celery.services.replay.broker_url[0]', 'celery.services.replay.broker_url[0].speed'],
  );
});

/** Every way to change one leaf of a configuration, with where it is. */
function* changes(value: unknown, path: string): Generator<readonly [path: string, changed: unknown]> {
  if (value instanceof Set) {
    if (value.size > 0) yield [path, new Set([...value].slice(1))];
  } else if (Array.isArray(value)) {
    yield [path, [...value, 'more']];
    for (const [index, item] of value.entries())
      for (const [at, changed] of changes(item, `${path}[${index}]`)) yield [at, value.with(index, changed)];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value))
      for (const [at, changed] of changes(item, `${path}.${key}`)) yield [at, { ...value, [key]: changed }];
  } else if (typeof value === 'number') yield [path, value + 1];
  else if (typeof value === 'boolean') yield [path, !value];
  else if (typeof value === 'string') yield [path, `${value}x`];
}

test('every change of a value changes the output, except secrets', () => {
  const origins = new Origins();
  // What log records say of exceptions, spans do too; it is printed once. A kind is a shape of its own. What an address or a rule for names of services consists of is in its label; the query of an endpoint is hidden, so
  // here it has none. What is about another broker is of no use: the second service is a recording.
  const hidden =
    /\.urls\[\d\]\.(scheme|host|port|username|password|vhost|file|db|at(\[.*)?)$|\.headers\.|^\.services\[1\]\.(broker\.((amqp|redis)\.(sentinel\.)?)?\w+$|control\.namespace|taskDefaultQueue|polls\.(queues|parkedQueues|redis))|^\.services\[0\]\.(broker|polls)\.redis|^\.services\[2\]\.broker\.amqp|\.sentinel\.password$|^\.traces\.exceptions\.|\.serviceNames\[\d\]\.(queue|name)$/;
  const file = ['--config', fileWith(FULL.replace(`?key=${SECRET}`, ''))];
  const traced = ['--config', fileWith(TRACED.replaceAll(`?key=${SECRET}`, ''))];
  const plain = { CELERY_BROKER_URL: 'amqp://a', OTEL_SERVICE_NAME: 'shop' };
  for (const [{ config }, count] of [
    [resolve({ argv: file, env: {} }), 80],
    [resolve({ argv: traced, env: {} }), 120],
    [resolve({ argv: [], env: plain }), 30],
  ] as const) {
    const before = effectiveConfig(config, origins, 'all').text;
    const seen: string[] = [];
    for (const [path, changed] of changes(config, '')) {
      const { exporter } = path.startsWith('.logs')
        ? (config.logs ?? config.otlp)
        : path.startsWith('.traces')
          ? (config.traces ?? config.otlp)
          : config.otlp;
      const isOfGrpcOnly = path.endsWith('.insecure') && exporter.protocol !== 'grpc';
      if (hidden.test(path) || isOfGrpcOnly || /\.(urls|views|services|rules|kind)$/.test(path)) continue;
      // Each change leaves the shape as it was, so it is a configuration still.
      assert.notEqual(
        effectiveConfig(Object.assign({ ...config }, changed), origins, 'all').text,
        before,
        path,
      );
      seen.push(path);
    }
    assert.ok(seen.length > count, `${seen.length}`);
  }
});

test('an address without parameters has one line, and a broker that is none of sentinels none about them', () => {
  const lines = linesOf({ argv: [], env: { CELERY_BROKER_URL: 'redis://a', OTEL_SERVICE_NAME: 'shop' } });
  assert.ok(!lines.some((line) => line.includes('sentinel') || line.includes('master_name')));
  assert.deepEqual(
    lines.filter((line) => line.includes('broker_url')),
    ['celery.services.shop.broker_url[0]: redis://a:6379/0  # CELERY_BROKER_URL'],
  );
});

test('no secret is printed', (t) => {
  setVariables(t, { TEST_SECRET: SECRET });
  const { config, origins } = resolve({
    argv: ['--config', fileWith(FULL.replaceAll(`:${SECRET}@`, `:\${TEST_SECRET}@`))],
    env: {},
  });
  const [first] = config.services[0].broker.urls;
  assert.ok(first.scheme !== 'recording' && first.password === SECRET);
  assert.equal(config.otlp.exporter.headers['x-key'], SECRET);
  assert.equal(config.services.at(-1)?.broker.redis.sentinel.password, SECRET);
  assert.ok(!effectiveConfig(config, origins, 'all').text.includes(SECRET));
});

test('an address in a wrong place does not show its password', () => {
  const lines = linesOf({
    argv: ['--event-exchange', `amqp://me:${SECRET}@rabbit`],
    env: { CELERY_BROKER_URL: 'amqp://a', OTEL_SERVICE_NAME: 'shop' },
  });
  assert.equal(
    lineOf(lines, 'celery.services.shop.event_exchange'),
    '"amqp://***@rabbit"  # --event-exchange',
  );
});

test('opt-in attributes are printed for every metric that has some, requested or not', () => {
  const lines = linesOf({ argv: [], env: { CELERY_BROKER_URL: 'amqp://a', OTEL_SERVICE_NAME: 'shop' } });
  const reported = lines.filter((line) => /\.attributes: \[\] {2}# default$/.test(line));
  assert.equal(reported.length, new Set(OPT_INS.map((optIn) => optIn.split('/')[0])).size);
});
