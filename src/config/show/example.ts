/** An example of a configuration file, with every option of the section `celery` as the table of options has it. */
import { type KeyedRow, OPTIONS, serviceRows } from '../options.ts';

const HEAD = `# One configuration file for celery-otel: celery-otel run --config FILE
# To see the effective configuration, or everything that is wrong: celery-otel config --config FILE
#
# It is an OpenTelemetry declarative configuration with one more section, celery. \${NAME} and \${NAME:-default} are
# taken from the environment; in the section celery a variable without a default has to be set.
file_format: "1.0"

# ${OPTIONS.log_level.doc} Of the standard's: trace, debug, info, warn, error, fatal.
log_level: info

# Attributes of all resources, also of the metrics about celery-otel itself.
resource:
  attributes:
    - name: deployment.environment.name
      value: \${DEPLOYMENT_ENVIRONMENT:-production}
`;

const METRICS = `  # For all services. A name may end in *; the most specific entry decides.
  metrics:
    celery.worker.load: { enabled: true }
    celery.task.prefetch_time: { attributes: [celery.worker.name] }
`;

const OTHER_SERVICE = `    billing:
      # Several addresses are tried in turn, as a list or with ; between them.
      broker_url:
        - \${BILLING_BROKER_URL}
        - \${BILLING_BROKER_URL_STANDBY:-amqp://localhost:5673}
      # TLS as Celery has it: true, or a map of ca_certs, certfile, keyfile and cert_reqs (required, optional or none).
      broker_use_ssl: true
      event_exchange: billing.celeryev
      event_queue_prefix: billing.celeryev
      control_exchange: billing
      # A setting of one service wins over the setting for all.
      worker_timeout: 120
      resource:
        service.namespace: money
      metrics:
        celery.task.sent: { enabled: false }
`;

const METER_PROVIDER = `
meter_provider:
  readers:
    - periodic:
        # Milliseconds between two exports, and for each request.
        interval: 15000
        timeout: 10000
        exporter:
          # Or otlp_http, whose endpoint is a whole URL: http://localhost:4318/v1/metrics
          otlp_grpc:
            endpoint: \${OTLP_ENDPOINT:-http://localhost:4317}
            headers_list: \${OTLP_HEADERS:-}
            compression: gzip
            temporality_preference: cumulative
        # Maximum number of points of a stream, including that of the overflow.
        cardinality_limits:
          default: 2000
  views:
    # Fewer series: none for each worker. More room for tasks and queues.
    - selector:
        instrument_name: celery.task.*
        instrument_type: counter
      stream:
        attribute_keys:
          excluded: [celery.worker.name]
        aggregation_cardinality_limit: 5000
    # Buckets that adapt to the measured values.
    - selector:
        instrument_name: celery.task.runtime
      stream:
        attribute_keys:
          excluded: [celery.worker.name]
        aggregation:
          base2_exponential_bucket_histogram:
            max_size: 80
`;

/** A file that is right as it is, once SHOP_BROKER_URL and BILLING_BROKER_URL are set. */
export function exampleFile(): string {
  const cluster = serviceRows().filter(([, { scope }]) => scope === 'cluster');
  const service = serviceRows().filter(([, { scope }]) => scope === 'service');
  return [
    HEAD,
    '\ncelery:\n',
    ...cluster.map((row) => setting(row, '  ')),
    '  telemetry:\n',
    `    # ${OPTIONS.self_telemetry.doc}\n    enabled: ${OPTIONS.self_telemetry.default}\n`,
    METRICS,
    '  services:\n    # The name is the service.name of its metrics.\n    shop:\n',
    ...service.map((row) => setting(row, '      ')),
    OTHER_SERVICE,
    METER_PROVIDER,
  ].join('');
}

/** A key with its default, and what it is above it. */
function setting([key, { doc, default: byDefault }]: KeyedRow, indent: string): string {
  const text = byDefault ?? (key === 'broker_url' ? `\${SHOP_BROKER_URL}` : '');
  return `${indent}# ${doc}\n${indent}${key}: ${text}\n`;
}
