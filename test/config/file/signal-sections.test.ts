/** `tracer_provider`, `logger_provider` and `attribute_limits`: processors and limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileOf, flagOf, signalRows } from '../../../src/config/options.ts';
import { configOf, mistakesOf } from '../configuration-files.ts';
import { OPTION_CASES } from '../option-cases.ts';
import { BATCH, configOutside, withSections } from '../signal-files.ts';

const ON = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' };
const BOTH = `tracer_provider: { processors: [ ${BATCH} ] }\nlogger_provider: { processors: [ ${BATCH} ] }`;

test('without the sections there are no traces and no logs', () => {
  const config = configOf(withSections(''));
  assert.ok(!('traces' in config) && !('logs' in config));
});

test('what a file leaves out has the defaults of the variables', () => {
  const { traces, logs } = configOutside(ON);
  const config = configOf(withSections(BOTH));
  assert.deepEqual({ traces: config.traces, logs: config.logs }, { traces, logs });
});

test('each option of a signal is read from a file as from its flag', () => {
  for (const signal of ['traces', 'logs'] as const) {
    const rows = signalRows(signal).filter(([, row]) => row.scope === 'signal' && row.signal === signal);
    for (const [key] of rows) {
      if (key === 'config') continue;
      const [[text] = ['']] = OPTION_CASES[key].good;
      const name = fileOf(key)?.split('.').at(-1);
      const found = configOf(withSections(BOTH, `${signal}: { ${name}: ${JSON.stringify(text)} }`));
      const { traces, logs } = configOutside(ON, [`${flagOf(key)}=${text}`]);
      assert.deepEqual({ traces: found.traces, logs: found.logs }, { traces, logs }, key);
    }
  }
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
    [
      traces('[]'),
      'tracer_provider.processors (f:3): expected a value valid by the OpenTelemetry schema: it must NOT have fewer than 1 items',
    ],
    [logs(`[ ${BATCH}, ${BATCH} ]`), `logger_provider.processors[1] (f:3): ${one}`],
    [traces(`[ ${BATCH}, ${BATCH} ]`), `tracer_provider.processors[1] (f:3): ${one}`],
    [
      traces('[ { simple: { exporter: { otlp_grpc: } } } ]'),
      'tracer_provider.processors[0].simple (f:3): expected no such key: requests are always batches; use batch',
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
      traces('[ { batch: { max_queue_size: 5, max_export_batch_size: 6, exporter: { otlp_grpc: } } } ]'),
      'tracer_provider.processors[0].batch.max_export_batch_size (f:3) is "6": expected at most bsp_max_queue_size (5)',
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
