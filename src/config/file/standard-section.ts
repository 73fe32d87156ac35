/**
 * The shape of a whole configuration file. Each key of the OpenTelemetry configuration schema is either supported or refused
 * with a reason; any other key is a mistake. Only the section `celery` is not part of that schema.
 */
import { format, oneOf } from '../format/formats.ts';
import { CELERY } from './celery-section.ts';
import type { FileValue } from './file-value.ts';
import { METER_PROVIDER } from './meter-section.ts';
import { RESOURCE } from './resource-section.ts';
import { map, type Read, refused, required, scalar } from './shape.ts';
import { ATTRIBUTE_LIMITS, LOGGER_PROVIDER, TRACER_PROVIDER } from './signal-sections.ts';

export const FILE = map(
  {
    file_format: required(scalar(oneOf(['1.0', '1.1'])), '"1.0" or "1.1", in quotes'),
    disabled: scalar(
      format(
        'false (to disable celery-otel, do not run it)',
        (text) => (text === 'false' ? { ok: true, value: false } : undefined),
        { schema: { type: 'boolean' } },
      ),
    ),
    // The finer severities of the logs data model (`info2`) are refused, because no log line has one.
    log_level: scalar(oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])),
    propagator: refused('there is no context to propagate'),
    'instrumentation/development': refused('nothing is instrumented'),
    distribution: refused('settings beyond the standard are in the section celery'),
    resource: RESOURCE,
    meter_provider: required(
      METER_PROVIDER,
      'a section that says where to export metrics, such as ' +
        '{ readers: [ { periodic: { exporter: { otlp_grpc: { endpoint: "http://localhost:4317" } } } } ] }',
    ),
    tracer_provider: TRACER_PROVIDER,
    logger_provider: LOGGER_PROVIDER,
    attribute_limits: ATTRIBUTE_LIMITS,
    celery: CELERY,
  },
  { of: 'sections' },
);

/** Reports all mistakes. @param root the whole file */
export function readFile(root: FileValue | undefined): Read<typeof FILE> {
  if (root === undefined) return {};
  const keys = root.entries().map(([key]) => key);
  // A file of another kind may consist of secrets, such as /etc/shadow, so nothing in it is printed.
  const isOther = keys.length > 0 && !keys.some((key) => Object.hasOwn(FILE.keys ?? {}, key));
  if (root.value !== null && !isOther) return FILE.read(root) ?? {};
  root.complain('file_format: "1.0", and the sections meter_provider and celery');
  return {};
}
