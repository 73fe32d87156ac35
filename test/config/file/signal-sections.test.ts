/** `tracer_provider`, `logger_provider` and `attribute_limits`: processors and limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../src/config/config.ts';
import { configOf, mistakesOf } from '../configuration-files.ts';
import { EXPORTER_DEFAULTS } from '../exporter-defaults.ts';
import { FILES } from '../option-cases.ts';
import { BATCH, withSections } from '../signal-files.ts';

const BOTH = `tracer_provider: { processors: [ ${BATCH} ] }\nlogger_provider: { processors: [ ${BATCH} ] }`;

test('without the sections there are no traces and no logs', () => {
  const config = configOf(withSections(''));
  assert.ok(!('traces' in config) && !('logs' in config));
});

test('missing keys have their defaults', () => {
  const { traces, logs } = configOf(withSections(BOTH));
  const exporter = { ...EXPORTER_DEFAULTS, protocol: 'grpc', endpoint: 'http://localhost:4317' } as const;
  const batch = { exportTimeoutMs: 30_000, maxQueueSize: 16_384, maxBatchSize: 512 };
  const exceptions = { exceptionMessage: true, exceptionStacktrace: true, redact: [], redactNames: [] };
  const on = { kind: 'always_on' } as const;
  assert.deepEqual(traces, {
    exporter,
    batch: { ...batch, scheduleDelayMs: 5000 },
    settings: {
      sampler: {
        kind: 'parent_based',
        root: on,
        remoteSampled: on,
        remoteNotSampled: { kind: 'always_off' },
      },
      holdMs: 300_000,
      spans: 'all',
      join: false,
      sendSpans: true,
      slowAfterMs: 60_000,
      maxDelayMs: 600_000,
      maxSpans: 5000,
      maxAgeMs: 21_600_000,
      newTraceFor: [],
      serviceNames: [],
      arguments: false,
      attributeValueLengthMax: undefined,
      exceptionEvents: false,
    },
    exceptions,
  } satisfies Config['traces']);
  assert.deepEqual(logs, {
    exporter,
    batch: { ...batch, scheduleDelayMs: 1000 },
    settings: {
      ...exceptions,
      workers: true,
      minimumSeverity: 1,
      traceBased: false,
      attributeValueLengthMax: undefined,
    },
  } satisfies Config['logs']);
});

test('every setting is read, of each signal on its own', () => {
  const exporter = (name: string) =>
    `otlp_http: { endpoint: "https://${name}/x", encoding: json, compression: gzip, timeout: 5, headers_list: "a=${name}", tls: { ca_file: ${FILES.certificate}, cert_file: ${FILES.certificate}, key_file: ${FILES.key} } }`;
  const batch = (name: string, more: string) => `{ batch: { ${more}, exporter: { ${exporter(name)} } } }`;
  const { traces, logs, otlp } = configOf(
    withSections(
      `tracer_provider:
  processors: [ ${batch('traces', 'schedule_delay: 1, export_timeout: 2, max_queue_size: 4, max_export_batch_size: 3')} ]
  limits: { attribute_value_length_limit: 7 }
logger_provider:
  processors: [ { event_to_span_event_bridge/development: }, ${batch('logs', 'max_queue_size: 5')} ]
  logger_configurator/development: { default_config: { minimum_severity: warn, trace_based: true } }
attribute_limits: { attribute_value_length_limit: 9 }`,
      'traces: { hold: 0.5, spans: beyond_workers, join: true, send_spans: false, slow_after: 0.5, max_delay: 1, max_spans: 2, max_age: 3, new_trace_for: ["a.*", b], service_names: ["queue:mail=mailer", "task:a.*+worker:*@b=b c"], arguments: true }, logs: { exception_message: false, exception_stacktrace: false, redact: ["a|b", "c,d"], redact_names: [licence, "*_handle"], workers: false }',
    ),
  );
  const http = {
    protocol: 'http/json',
    certificateFile: FILES.certificate,
    clientCertificateFile: FILES.certificate,
    clientKeyFile: FILES.key,
    insecure: false,
    compression: 'gzip',
    timeoutMs: 5,
  };
  const exceptions = {
    exceptionMessage: false,
    exceptionStacktrace: false,
    redact: [/a|b/gu, /c,d/gu],
    redactNames: ['licence', '*_handle'],
  };
  assert.deepEqual(traces?.exporter, { ...http, endpoint: 'https://traces/x', headers: { a: 'traces' } });
  assert.deepEqual(logs?.exporter, { ...http, endpoint: 'https://logs/x', headers: { a: 'logs' } });
  assert.equal(otlp.exporter.endpoint, 'http://localhost:4317');
  assert.deepEqual(traces?.batch, {
    scheduleDelayMs: 1,
    exportTimeoutMs: 2,
    maxQueueSize: 4,
    maxBatchSize: 3,
  });
  // The default is no more than what waits.
  assert.deepEqual(logs?.batch, {
    scheduleDelayMs: 1000,
    exportTimeoutMs: 30_000,
    maxQueueSize: 5,
    maxBatchSize: 5,
  });
  assert.deepEqual(traces?.exceptions, exceptions);
  const { sampler: _, ...settings } = traces?.settings ?? {};
  assert.deepEqual(settings, {
    holdMs: 500,
    spans: 'beyond_workers',
    join: true,
    sendSpans: false,
    slowAfterMs: 500,
    maxDelayMs: 1000,
    maxSpans: 2,
    maxAgeMs: 3000,
    newTraceFor: ['a.*', 'b'],
    serviceNames: [
      { queue: 'mail', name: 'mailer', label: 'queue:mail=mailer' },
      { task: 'a.*', worker: '*@b', name: 'b c', label: 'task:a.*+worker:*@b=b c' },
    ],
    arguments: true,
    attributeValueLengthMax: 7,
    exceptionEvents: true,
  });
  assert.deepEqual(logs?.settings, {
    ...exceptions,
    workers: false,
    minimumSeverity: 13,
    traceBased: true,
    attributeValueLengthMax: 9,
  });
});

test('exceptions are events of spans where there are no log records, or if there is a bridge', () => {
  const traces = `tracer_provider: { processors: [ ${BATCH} ] }`;
  const areEvents = (sections: string) => configOf(withSections(sections)).traces?.settings.exceptionEvents;
  assert.equal(areEvents(traces), true);
  assert.equal(areEvents(BOTH), false);
  assert.equal(
    areEvents(
      `${traces}\nlogger_provider: { processors: [ ${BATCH}, { event_to_span_event_bridge/development: } ] }`,
    ),
    true,
  );
  const disabled = `${BOTH.replace(/ \}$/u, '')}, logger_configurator/development: { default_config: { enabled: false } } }`;
  assert.equal(areEvents(disabled), true);
  assert.equal(configOf(withSections(disabled)).logs, undefined);
});

test('a time-out of 0 means none, which is a day', () => {
  const { traces } = configOf(
    withSections(
      'tracer_provider: { processors: [ { batch: { export_timeout: 0, exporter: { otlp_http: { timeout: 0 } } } } ] }',
    ),
  );
  assert.equal(traces?.batch.exportTimeoutMs, 86_400_000);
  assert.equal(traces?.exporter.timeoutMs, 86_400_000);
  const { logs } = configOf(
    withSections(
      'logger_provider: { processors: [ { batch: { export_timeout: 7, exporter: { otlp_http: { timeout: 0 } } } } ] }',
    ),
  );
  assert.equal(logs?.exporter.timeoutMs, 7);
  assert.equal(logs?.exporter.endpoint, 'http://localhost:4318/v1/logs');
});

test('what has no effect or cannot be is a mistake, with its path', () => {
  const traces = (processors: string, more = '') =>
    withSections(`tracer_provider: { processors: ${processors}${more} }`);
  const logs = (processors: string, more = '') =>
    withSections(`logger_provider: { processors: ${processors}${more} }`);
  const bridge = '{ event_to_span_event_bridge/development: }';
  const one = 'expected only one processor, because everything is exported to one backend';
  const none = 'because there are none: remove it, or add';
  const cases: [text: string, ...mistakes: string[]][] = [
    [
      withSections('tracer_provider: {}'),
      'tracer_provider.processors (f:3): expected a value: a list with a batch processor',
    ],
    [withSections('tracer_provider: []'), 'tracer_provider (f:3): expected a map of settings'],
    [
      traces('[]'),
      'tracer_provider.processors (f:3): expected a value valid by the OpenTelemetry schema: it must NOT have fewer than 1 items',
    ],
    [traces(`[ ${BATCH}, ${BATCH} ]`), `tracer_provider.processors[1] (f:3): ${one}`],
    [logs(`[ ${BATCH}, ${BATCH} ]`), `logger_provider.processors[1] (f:3): ${one}`],
    [
      traces('[ { simple: { exporter: { otlp_grpc: } } } ]'),
      'tracer_provider.processors[0].simple (f:3): expected no such key: requests are always batches; use batch',
    ],
    [
      traces('[ { batch: {} } ]'),
      'tracer_provider.processors[0].batch.exporter (f:3): expected a value: otlp_grpc or otlp_http, with its settings',
    ],
    [
      traces('[ { batch: { exporter: { console: } } } ]'),
      'tracer_provider.processors[0].batch.exporter.console (f:3): expected no such key: traces are only exported over OTLP, by otlp_grpc or otlp_http',
    ],
    [
      traces('[ { batch: { exporter: { otlp_grpc: { temporality_preference: delta } } } } ]'),
      'tracer_provider.processors[0].batch.exporter.otlp_grpc.temporality_preference (f:3): expected a known key (known keys: endpoint, headers, headers_list, compression, timeout, tls)',
    ],
    [
      traces(
        `[ { batch: { exporter: { otlp_grpc: { tls: { cert_file: ${FILES.certificate} }, endpoint: "https://a" } } } } ]`,
      ),
      'tracer_provider.processors[0].batch.exporter.otlp_grpc.tls.key_file (f:3): expected a value: the path of a PEM file with a private key without a passphrase, because a certificate is set',
    ],
    [
      traces('[ { batch: { max_queue_size: 5, max_export_batch_size: 6, exporter: { otlp_grpc: } } } ]'),
      'tracer_provider.processors[0].batch.max_export_batch_size (f:3) is "6": expected at most bsp_max_queue_size (5)',
    ],
    [
      traces('[ { batch: { schedule_delay: 5s, exporter: { otlp_grpc: } } } ]'),
      'tracer_provider.processors[0].batch.schedule_delay (f:3) is "5s": expected milliseconds, a whole number from 0 to 86400000',
    ],
    [
      traces(`[ ${BATCH} ]`, ', id_generator: { random: }'),
      'tracer_provider.id_generator (f:3): expected no such key: the ids of traces and spans follow from those of the tasks',
    ],
    [
      traces(`[ ${BATCH} ]`, ', limits: { event_count_limit: 5 }'),
      'tracer_provider.limits.event_count_limit (f:3): expected no such key: celery-otel decides how many there are, and they are few',
    ],
    [
      logs(`[ ${bridge} ]`),
      'logger_provider.processors (f:3): expected a list with a batch processor',
      'logger_provider.processors[0] (f:3): expected no such processor without a tracer_provider',
    ],
    [
      logs(`[ ${BATCH}, ${bridge} ]`),
      'logger_provider.processors[1] (f:3): expected no such processor without a tracer_provider',
    ],
    [
      logs(`[ ${BATCH} ]`, ', logger_configurator/development: { default_config: { trace_based: true } }'),
      'logger_provider.logger_configurator/development.default_config.trace_based (f:3): expected false without a tracer_provider',
    ],
    [
      logs(`[ ${BATCH} ]`, ', logger_configurator/development: { loggers: [ { name: a, config: {} } ] }'),
      'logger_provider.logger_configurator/development.loggers (f:3): expected no such key: there is one logger; use default_config',
    ],
    [
      logs(
        '[ { event_to_span_event_bridge/development: }, { batch: { exporter: { otlp_grpc: { endpoint: "http://a/b" } } } } ]',
      ).replace('logger', `tracer_provider: { processors: [ ${BATCH} ] }\nlogger`),
      'logger_provider.processors[1].batch.exporter.otlp_grpc.endpoint (f:4) is "http://a/b": expected http://host:port, https://host[:port], host:port, dns:///host:port or unix:///path; no path after the host: gRPC has none (is this an endpoint for OTLP over HTTP?)',
    ],
    [
      withSections('attribute_limits: { attribute_value_length_limit: 5 }'),
      'attribute_limits (f:3): expected no such key without a tracer_provider or a logger_provider',
    ],
    [
      withSections('', 'traces: { slow_after: 5 }'),
      `celery.traces.slow_after (f:4) is "5": expected no option of traces, ${none} tracer_provider to f`,
    ],
    [
      withSections('', 'logs: { redact: [a], workers: true }'),
      `celery.logs.redact (f:4) is "a": expected no option of logs, ${none} logger_provider to f`,
      `celery.logs.workers (f:4) is "true": expected no option of logs, ${none} logger_provider to f`,
    ],
    [
      withSections(
        `tracer_provider: { processors: [ ${BATCH} ] }`,
        'traces: { slow: 5, keep: [slow], join: x, service_names: ["queue:a=b", "queues:a=b"] }, logs: { redact: ["("], redact_names: ["a b"], workers: true }',
      ),
      'celery.traces.slow (f:4): expected a known key (known keys: hold, spans, join, send_spans, slow_after, max_delay, max_spans, max_age, new_trace_for, service_names, arguments)',
      'celery.traces.keep (f:4): expected a known key (known keys: hold, spans, join, send_spans, slow_after, max_delay, max_spans, max_age, new_trace_for, service_names, arguments)',
      'celery.traces.join (f:4) is "x": expected true or false',
      'celery.traces.service_names (f:4) is "queue:a=b,queues:a=b": expected rules separated by commas, at most 50, each at most 255 bytes, as in task:shop.mail.*=mailer or queue:mail+worker:*@mail-?=mailer; not "queues:a=b"',
      'celery.logs.redact (f:4) is "(": expected regular expressions, one a line, none of which matches an empty text',
      'celery.logs.redact_names (f:4) is "a b": expected words of names separated by commas, at most 64, each of letters, digits, _, - and ., at least two and at most 64 characters, with * at either end',
      `celery.logs.workers (f:4) is "true": expected no option of logs, ${none} logger_provider to f`,
    ],
  ];
  for (const [text, ...mistakes] of cases) assert.deepEqual(mistakesOf(text), mistakes, text);
});

test('what spans say of exceptions is set in celery.logs, with or without log records', () => {
  const { traces } = configOf(
    withSections(
      `tracer_provider: { processors: [ ${BATCH} ] }`,
      'logs: { redact: [x], exception_message: false }',
    ),
  );
  assert.deepEqual(traces?.exceptions, {
    exceptionMessage: false,
    exceptionStacktrace: true,
    redact: [/x/gu],
    redactNames: [],
  });
});

test('a header of each signal is a secret, and an unset variable in each exporter a mistake', () => {
  const exporter = (headers: string) => `{ batch: { exporter: { otlp_http: { ${headers} } } } }`;
  for (const provider of ['tracer_provider', 'logger_provider']) {
    const text = (headers: string) => withSections(`${provider}: { processors: [ ${exporter(headers)} ] }`);
    const [mistake, ...others] = mistakesOf(text('headers: [ { name: hunter2 x, value: hunter2 } ]'));
    assert.match(mistake ?? '', /headers\[0\] \(f:3\): expected a valid header/u);
    assert.ok(!mistake?.includes('hunter2'));
    assert.deepEqual(others, []);
    assert.match(
      mistakesOf(text(`headers_list: "\${CELERY_OTEL_UNSET}"`)).join('\n'),
      /headers_list .*not set in the environment: CELERY_OTEL_UNSET/u,
    );
  }
});
