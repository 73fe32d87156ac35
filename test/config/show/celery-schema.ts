/**
 * A JSON schema of the section `celery` for editors, generated from the tables that the section is read with. Checks of
 * several values together are made only when the file is read.
 */

import { BROKER_SSL } from '../../../src/config/file/broker-section.ts';
import type { Shape } from '../../../src/config/file/shape.ts';
import type { ScalarSchema } from '../../../src/config/format/formats.ts';
import { type KeyedRow, OPTIONS, type OptionRow, serviceRows } from '../../../src/config/options.ts';
import { METRIC_NAMES, METRICS, optInAttributesOf } from '../../../src/meter/catalog.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A variable reference is valid for any type. */
const REFERENCE = { $ref: '#/$defs/reference' };
const TEXT = { type: 'string', minLength: 1 };

/** The document, with a final newline; a list of strings is on one line. */
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
        telemetry: map("The bridge's own metrics.", { enabled: scalar(OPTIONS.self_telemetry) }),
        services: {
          description: 'The Celery services, by their `service.name`.',
          type: 'object',
          minProperties: 1,
          patternProperties: { '^\\S(.{0,253}\\S)?$': { $ref: '#/$defs/service' } },
          additionalProperties: false,
        },
        metrics: {
          description:
            'What is exported of all services: a metric, or the beginning of some with a * after it.',
          $ref: '#/$defs/metrics',
        },
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
  const docs: Readonly<Record<string, string>> = {
    ca_certs: "PEM file with the certificates to trust instead of the system's.",
    certfile: 'PEM file with the certificate that is shown to the broker; goes with `keyfile`.',
    keyfile: 'PEM file with the key of `certfile`.',
    cert_reqs: "Whether the broker's certificate is verified; it is unless this is `none`.",
  };
  const ssl = Object.entries<Shape<unknown>>(BROKER_SSL).flatMap(([key, { format }]) =>
    format === undefined ? [] : [[key, { description: docs[key], ...orReference(format.schema) }] as const],
  );
  return {
    broker_use_ssl: {
      description:
        "TLS to the broker, Celery's own setting; `ssl_*` keys of an address win, and false takes none away from amqps.",
      anyOf: [
        { type: 'boolean' },
        { type: 'object', properties: Object.fromEntries(ssl), additionalProperties: false },
        REFERENCE,
      ],
    },
    broker_transport_options: {
      description: "Celery's own setting; AMQP has none that is honoured.",
      type: ['object', 'null'],
      maxProperties: 0,
    },
    resource: {
      description: 'Further resource attributes of the exported metrics.',
      type: ['object', 'null'],
      properties: { 'service.name': false },
      additionalProperties: { $ref: '#/$defs/attribute' },
    },
    metrics: {
      description: 'What is exported; of what is said of a metric here and for all services, this wins.',
      $ref: '#/$defs/metrics',
    },
  };
}

function metrics(): Schema {
  const entry = (attributes: readonly string[]): Schema => ({
    type: 'object',
    properties: {
      enabled: {
        description: 'Whether it is exported.',
        ...orReference(OPTIONS.self_telemetry.format.schema),
      },
      attributes: {
        description: 'The opt-in attributes that its points have, which are none unless asked for.',
        type: 'array',
        items: { enum: attributes },
      },
    },
    additionalProperties: false,
  });
  return {
    type: ['object', 'null'],
    properties: Object.fromEntries(
      METRIC_NAMES.map((name) => [
        name,
        { description: METRICS[name].description, ...entry(optInAttributesOf(name)) },
      ]),
    ),
    patternProperties: { '^[a-z._]*\\*$': entry([...new Set(METRIC_NAMES.flatMap(optInAttributesOf))]) },
    additionalProperties: false,
  };
}

function attribute(): Schema {
  const types = ['string', 'number', 'boolean'].map((type) => ({ type }));
  return { anyOf: [...types, ...types.map((items) => ({ type: 'array', items, minItems: 1 }))] };
}
