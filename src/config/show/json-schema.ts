/**
 * A JSON schema of the section `celery`, made from the tables that the section is read by: for editors, which complete and
 * explain by it. What is not a matter of one value alone is checked when the file is read.
 */
import { METRIC_NAMES, METRICS } from '../../meter/catalog.ts';
import { BROKER_SSL } from '../file/broker-section.ts';
import { CELERY_MAPS, SERVICE_MAPS } from '../file/celery-section.ts';
import { METRIC_KEYS } from '../file/metrics-section.ts';
import type { ScalarSchema } from '../format/formats.ts';
import { optInsOf } from '../metric-choice.ts';
import { type KeyedRow, OPTIONS, type OptionRow, serviceRows } from '../options.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A reference to the environment stands for whatever comes in its place. */
const REFERENCE = { $ref: '#/$defs/reference' };
const TEXT = { type: 'string', minLength: 1 };

/** The document, with a newline at its end; a list of words is on one line. */
export function celerySchema(): string {
  const text = JSON.stringify(schema(), null, 2);
  const words = /\[\s+("[^"\n]*"(?:,\s+"[^"\n]*")*)\s+\]/g;
  return `${text.replaceAll(words, (_, list: string) => `[${list.replaceAll(/\n\s+/g, ' ')}]`)}\n`;
}

function schema(): Schema {
  const rows = serviceRows();
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'celery-otel',
    description:
      'The section celery of an OpenTelemetry configuration file; of the other sections nothing is said here.',
    type: 'object',
    properties: { celery: { $ref: '#/$defs/celery' } },
    $defs: {
      celery: map('What is about Celery.', {
        ...properties(rows.filter(([, { scope }]) => scope === 'cluster')),
        telemetry: map(CELERY_MAPS.telemetry, { enabled: scalar(OPTIONS.self_telemetry) }),
        services: {
          description: CELERY_MAPS.services,
          type: 'object',
          minProperties: 1,
          patternProperties: { '^\\S(.{0,253}\\S)?$': { $ref: '#/$defs/service' } },
          additionalProperties: false,
        },
        metrics: { description: CELERY_MAPS.metrics, $ref: '#/$defs/metrics' },
      }),
      service: {
        ...map('One Celery service.', { ...properties(rows), ...serviceMaps() }),
        type: 'object',
        required: rows.filter(([, { required }]) => required === true).map(([key]) => key),
      },
      metrics: metrics(),
      attribute: attribute(),
      reference: { description: 'From the environment.', type: 'string', pattern: '\\$\\{[^}]+\\}' },
    },
  };
}

function map(description: string, inIt: Schema): Schema {
  return { description, type: ['object', 'null'], properties: inIt, additionalProperties: false };
}

function properties(rows: readonly KeyedRow[]): Schema {
  return Object.fromEntries(
    rows.map(([key, row]) => [key, key === 'broker_url' ? brokerUrl(row) : scalar(row)]),
  );
}

function scalar({ doc, format, default: byDefault }: OptionRow<unknown>): Schema {
  const value = byDefault === undefined ? {} : { default: typed(byDefault, format.schema) };
  return { description: doc, ...value, ...orReference(format.schema) };
}

/** Celery takes a list too. */
function brokerUrl({ doc }: OptionRow<unknown>): Schema {
  return { description: doc, anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1 }] };
}

function orReference(schema: ScalarSchema): Schema {
  const isAnyText = schema.type === 'string' && schema.enum === undefined;
  return isAnyText ? { ...schema, minLength: 1 } : { anyOf: [schema, REFERENCE] };
}

function typed(text: string, { type }: ScalarSchema): string | number | boolean {
  switch (type) {
    case 'integer':
    case 'number':
      return Number(text);
    case 'boolean':
      return text === 'true';
    case 'string':
      return text;
  }
}

function serviceMaps(): Schema {
  const ssl = Object.entries(BROKER_SSL).map(([key, { doc, format }]) => [
    key,
    { description: doc, ...orReference(format.schema) },
  ]);
  return {
    broker_use_ssl: {
      description: SERVICE_MAPS.broker_use_ssl,
      anyOf: [
        { type: 'boolean' },
        { type: 'object', properties: Object.fromEntries(ssl), additionalProperties: false },
        REFERENCE,
      ],
    },
    broker_transport_options: {
      description: SERVICE_MAPS.broker_transport_options,
      type: ['object', 'null'],
      maxProperties: 0,
    },
    resource: {
      description: SERVICE_MAPS.resource,
      type: ['object', 'null'],
      properties: { 'service.name': false },
      additionalProperties: { $ref: '#/$defs/attribute' },
    },
    metrics: { description: SERVICE_MAPS.metrics, $ref: '#/$defs/metrics' },
  };
}

function metrics(): Schema {
  const entry = (attributes: readonly string[]): Schema => ({
    type: 'object',
    properties: {
      enabled: { description: METRIC_KEYS.enabled, ...orReference(OPTIONS.self_telemetry.format.schema) },
      attributes: { description: METRIC_KEYS.attributes, type: 'array', items: { enum: attributes } },
    },
    additionalProperties: false,
  });
  const keysOf = (name: (typeof METRIC_NAMES)[number]) =>
    optInsOf(name).map((optIn) => optIn.slice(name.length + 1));
  return {
    type: ['object', 'null'],
    properties: Object.fromEntries(
      METRIC_NAMES.map((name) => [name, { description: METRICS[name].description, ...entry(keysOf(name)) }]),
    ),
    patternProperties: { '^[a-z._]*\\*$': entry([...new Set(METRIC_NAMES.flatMap(keysOf))]) },
    additionalProperties: false,
  };
}

function attribute(): Schema {
  const types = ['string', 'number', 'boolean'].map((type) => ({ type }));
  return { anyOf: [...types, ...types.map((items) => ({ type: 'array', items, minItems: 1 }))] };
}
