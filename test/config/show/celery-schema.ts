/**
 * A JSON schema of the section `celery` for editors, generated from the tables that the section is read with. Checks of
 * several values together are made only when the file is read.
 */

import { AMQP_TLS, REDIS_TLS, TLS_EFFECTS } from '../../../src/config/file/broker-tls.ts';
import type { Shapes } from '../../../src/config/file/shape.ts';
import {
  SENTINEL_TLS,
  WITHOUT_EFFECT,
  WITHOUT_EFFECT_ON_AMQP,
  WITHOUT_EFFECT_ON_SENTINELS,
} from '../../../src/config/file/transport-options.ts';
import type { Format } from '../../../src/config/format/formats.ts';
import {
  fileOf,
  type KeyedRow,
  OPTIONS,
  type OptionKey,
  type OptionRow,
  optionRows,
  SENTINEL_KWARGS,
  servicePath,
  serviceRows,
  signalRows,
  TRANSPORT_OPTIONS,
} from '../../../src/config/options.ts';
import { METRIC_NAMES, METRICS, optInAttributesOf } from '../../../src/meter/catalog.ts';
import type { SignalName } from '../../../src/otlp/signal-paths.ts';

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
        ...ofProcess('celery'),
        status: map('Probes and the status, over HTTP.', ofProcess('celery.status')),
        telemetry: map("The bridge's own metrics.", ofProcess('celery.telemetry')),
        traces: map('What spans are made of, if there is a `tracer_provider`.', ofSignal('traces')),
        logs: map('What log records are made of, if there is a `logger_provider`.', ofSignal('logs')),
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
        ...map('One Celery service.', {
          ...properties(rows.filter(([, { within }]) => within === undefined)),
          ...serviceMaps(rows),
        }),
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

function properties(rows: readonly KeyedRow[], keyOf = (key: OptionKey) => servicePath(key).at(-1)): Schema {
  return Object.fromEntries(
    rows.map(([key, row]) => [keyOf(key) ?? key, row.format.list === undefined ? scalar(row) : listOf(row)]),
  );
}

/** @param at the path of the map that has the options */
function ofProcess(at: string): Schema {
  const isIn = (path = '') => path.slice(0, path.lastIndexOf('.')) === at;
  const rows = optionRows('run').filter(([key, { scope }]) => scope === 'process' && isIn(fileOf(key)));
  return properties(rows, (key) => fileOf(key)?.split('.').at(-1));
}

function ofSignal(signal: SignalName): Schema {
  const rows = signalRows(signal).filter(([, row]) => row.scope === 'signal' && row.signal === signal);
  return properties(rows, (key) => fileOf(key)?.split('.').at(-1));
}

function scalar({ doc, format, default: byDefault }: OptionRow<unknown>): Schema {
  const value = byDefault === undefined ? {} : { default: typed(byDefault, format) };
  return { description: doc, ...value, ...orReference(format) };
}

/** A text with separators, or a list. */
function listOf({ doc, format, default: byDefault }: OptionRow<unknown>): Schema {
  const value = byDefault === undefined ? {} : { default: byDefault };
  const items = format.list?.items.type === 'integer' ? { anyOf: [format.list.items, TEXT] } : TEXT;
  return { description: doc, ...value, anyOf: [TEXT, { type: 'array', items, minItems: 1 }] };
}

function orReference({ schema, orSwitch, numbers }: Format<unknown>): Schema {
  const others = numbers === undefined ? [] : [numbers];
  const isAnyText = schema.type === 'string' && schema.enum === undefined;
  if (!isAnyText) return { anyOf: [schema, ...others, REFERENCE] };
  const text = { ...schema, minLength: 1 };
  const all = [...(orSwitch === true ? [{ type: 'boolean' }] : []), ...others, text];
  return all.length === 1 ? text : { anyOf: all };
}

function typed(text: string, { schema }: Format<unknown>): string | number | boolean {
  switch (schema.type) {
    case 'integer':
    case 'number':
      return Number(text);
    case 'boolean':
      return text === 'true';
    case 'string':
      return text;
  }
}

/** The keys that are supported. */
function tls(keys: Shapes): Schema {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, { format }]) =>
      format === undefined
        ? []
        : [[key, { description: TLS_EFFECTS[key.replace('ssl_', '')], ...orReference(format) }] as const],
    ),
  );
}

function ignored(reasons: Readonly<Record<string, string>>): Schema {
  return Object.fromEntries(
    Object.entries(reasons).map(([key, reason]) => [
      key,
      { description: `Celery's own setting, without effect here: ${reason}.` },
    ]),
  );
}

function transportOptions(rows: readonly KeyedRow[]): Schema {
  const inMap = (map: string) => properties(rows.filter(([, { within }]) => within === map));
  return map("Celery's own setting; with RabbitMQ no key has an effect.", {
    ...inMap(TRANSPORT_OPTIONS),
    sentinel_kwargs: map('How the sentinels themselves are asked.', {
      ...inMap(SENTINEL_KWARGS),
      ...tls(SENTINEL_TLS),
      ...ignored(WITHOUT_EFFECT_ON_SENTINELS),
    }),
    ...ignored({ ...WITHOUT_EFFECT, ...WITHOUT_EFFECT_ON_AMQP }),
  });
}

function serviceMaps(rows: readonly KeyedRow[]): Schema {
  return {
    broker_use_ssl: {
      description:
        "TLS to the broker, Celery's own setting; `ssl_*` keys of an address win, and false takes none away from amqps and rediss.",
      anyOf: [
        { type: 'boolean' },
        ...[AMQP_TLS, REDIS_TLS].map((keys) => ({
          type: 'object',
          properties: tls(keys),
          additionalProperties: false,
        })),
        REFERENCE,
      ],
    },
    broker_transport_options: transportOptions(rows),
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
        ...orReference(OPTIONS.self_telemetry.format),
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
