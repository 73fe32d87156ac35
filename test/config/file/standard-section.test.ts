/** Every key of the standard's file is supported or refused, as the table says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { METER_NAME } from '../../../src/meter/catalog.ts';
import { VERSION } from '../../../src/self/version.ts';
import { configOf, load, mistakesOf } from '../configuration-files.ts';
import { FILES } from '../option-cases.ts';
import { STANDARD } from './standard-shapes.ts';

type Node = Record<string, unknown>;

const METRIC = 'celery.task.runtime';

/** A valid document with a value at the path of a row, and what else it requires. */
function documentWith(row: string, value: unknown): string {
  const http = row.includes('.otlp_http');
  const isSelector = row.startsWith('meter_provider.views[].selector.');
  const batches: Node = { processors: [{ batch: { exporter: { [http ? 'otlp_http' : 'otlp_grpc']: {} } } }] };
  const document: Node = {
    file_format: '1.0',
    celery: { services: { shop: { broker_url: 'amqp://rabbit' } } },
    meter_provider: {
      readers: [{ periodic: { exporter: { [http ? 'otlp_http' : 'otlp_grpc']: {} } } }],
      ...(row.includes('.views')
        ? { views: [{ selector: isSelector ? {} : { instrument_name: METRIC }, stream: {} }] }
        : {}),
    },
  };
  const ofTraces = row.startsWith('tracer_provider.') || row.startsWith('attribute_limits');
  if (ofTraces) document['tracer_provider'] = { ...batches, ...samplerIn(row) };
  if (row.startsWith('logger_provider.')) {
    document['logger_provider'] = batches;
    document['tracer_provider'] = structuredClone(batches);
  }
  if (row.startsWith('resource.attributes[].'))
    document['resource'] = { attributes: [{ name: 'a', value: 'b' }] };
  // Where there is a scheme, that is what says whether there is TLS.
  if (row.endsWith('.insecure')) set(document, row.replace(/tls\..*$/u, 'endpoint'), 'c:4317');
  // Files for TLS need an endpoint with it.
  if (/_file$/u.test(row)) set(document, row.replace(/tls\..*$/u, 'endpoint'), 'https://c');
  set(document, row, value);
  const [companion, beside] = COMPANIONS.find(([end]) => row.endsWith(end)) ?? [];
  if (companion !== undefined) set(document, row.replace(companion, beside?.[0] ?? ''), beside?.[1]);
  return `${JSON.stringify(document, null, 1)}\n`;
}

/** A sampler with what else a key in it requires. */
function samplerIn(row: string): Node {
  const sampler = { always_on: {} };
  const needed = {
    key: 'celery.task.outcome',
    ...(row.includes('attribute_values') ? { values: ['lost'] } : { excluded: ['x'] }),
  };
  const [condition] = /attribute_(?:values|patterns)/u.exec(row) ?? [];
  const rules = [{ sampler, ...(condition === undefined ? {} : { [condition]: needed }) }, { sampler }];
  return row.includes('rule_based.')
    ? { sampler: { 'composite/development': { rule_based: { rules } } } }
    : {};
}

/** What a key requires to be valid. */
const COMPANIONS: readonly [end: string, beside: readonly [key: string, value: string]][] = [
  ['cert_file', ['key_file', FILES.key]],
  ['key_file', ['cert_file', FILES.certificate]],
  ['headers[].name', ['headers[].value', 'x']],
  ['headers[].value', ['headers[].name', 'x']],
];

function set(root: Node, row: string, value: unknown): void {
  const keys = row.split('.').flatMap((key) => (key.endsWith('[]') ? [key.slice(0, -2), 0] : [key]));
  let node: unknown = root;
  for (const [index, key] of keys.entries()) {
    assert.ok(typeof node === 'object' && node !== null);
    const isLast = index === keys.length - 1;
    const next: unknown = Reflect.get(node, key);
    if (isLast) Reflect.set(node, key, value);
    else if (typeof next !== 'object' || next === null)
      Reflect.set(node, key, keys[index + 1] === 0 ? [] : {});
    node = Reflect.get(node, key);
  }
}

interface SchemaNode {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, SchemaNode>>;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

/** Every path of the schema, with [] for an index; paths below one for which `stop` holds are omitted. */
function standardPaths(stop: (path: string) => boolean): readonly string[] {
  const root = readSchema();
  const resolve = (node: SchemaNode): SchemaNode => {
    const name = node.$ref?.replace('#/$defs/', '');
    const found = name === undefined ? node : root.$defs?.[name];
    assert.ok(found !== undefined, node.$ref);
    return found;
  };
  const walk = (node: SchemaNode, path: string): readonly string[] => {
    if (path !== '' && stop(path)) return [path];
    const { properties = {}, items } = resolve(node);
    const within = Object.entries(properties).flatMap(([key, value]) =>
      walk(value, path === '' ? key : `${path}.${key}`),
    );
    return [
      ...(path === '' ? [] : [path]),
      ...within,
      ...(items === undefined ? [] : walk(items, `${path}[]`)),
    ];
  };
  return walk(root, '');
}

function readSchema(): SchemaNode {
  const index = import.meta.resolve('@opentelemetry/configuration');
  const text = readFileSync(new URL('generated/validator.mjs', index), 'utf8');
  const [, json] = /const schema31 = (\{[\s\S]*?\n\t\});/.exec(text) ?? [];
  assert.ok(json !== undefined, 'the package has its schema elsewhere');
  return JSON.parse(json);
}

const shown = (row: string): string => row.replaceAll('[]', '[0]');

test('every key of the standard has a row, and every row is a key of the standard', () => {
  const paths = standardPaths((path) => {
    const shape = STANDARD.get(path);
    return shape?.refused !== undefined || shape?.isWithin === true;
  });
  assert.ok(paths.length > 80);
  assert.deepEqual(paths.toSorted(), [...STANDARD.keys()].sort());
});

test('an unsupported key is refused by its path, with a reason', () => {
  const refused = [...STANDARD].filter(([, shape]) => shape.refused !== undefined);
  assert.ok(refused.length > 10);
  for (const [row, shape] of refused) {
    for (const value of [{}, null, 'x']) {
      const mistakes = mistakesOf(documentWith(row, value));
      const mine = mistakes.filter((line) => line.startsWith(`${shown(row)} (f:`));
      assert.equal(mine.length, 1, `${row}: ${mistakes.join('\n')}`);
      assert.ok(mine[0]?.endsWith(`: expected no such key: ${shape.refused}`), mine[0]);
    }
  }
});

const COMPOSITE = 'tracer_provider.sampler.composite/development';
const RULE = `${COMPOSITE}.rule_based.rules[]`;
const LOGGER = 'logger_provider.logger_configurator/development.default_config';

/** Two values of each honoured key; undefined where but one is right. */
const SAMPLES: Readonly<Record<string, readonly [unknown, unknown]>> = {
  file_format: ['1.0', undefined],
  disabled: [false, undefined],
  log_level: ['warn', 'debug'],
  'resource.attributes[].name': ['x', 'y'],
  'resource.attributes[].type': ['string', undefined],
  'resource.attributes_list': ['a=b', 'a=c'],
  'meter_provider.readers[].periodic.interval': [40_000, 50_000],
  'meter_provider.readers[].periodic.timeout': [1000, 2000],
  'meter_provider.readers[].periodic.max_export_batch_size/development': [100, 200],
  'meter_provider.readers[].periodic.cardinality_limits.default': [10, 20],
  'meter_provider.readers[].periodic.cardinality_limits.counter': [10, 20],
  'meter_provider.readers[].periodic.cardinality_limits.histogram': [10, 20],
  'meter_provider.readers[].periodic.cardinality_limits.observable_gauge': [10, 20],
  ...exporterSamples('otlp_grpc', 'http://a:1', 'https://b'),
  ...exporterSamples('otlp_http', 'http://a:1/x', 'https://b'),
  'meter_provider.readers[].periodic.exporter.otlp_grpc.tls.insecure': [true, false],
  'meter_provider.readers[].periodic.exporter.otlp_http.encoding': ['json', 'protobuf'],
  'meter_provider.exemplar_filter': ['always_off', 'trace_based'],
  'attribute_limits.attribute_value_length_limit': [5, 6],
  ...batchSamples('tracer_provider.processors[].batch'),
  'tracer_provider.limits.attribute_value_length_limit': [5, 6],
  'tracer_provider.sampler.trace_id_ratio_based.ratio': [0.5, 0],
  'tracer_provider.sampler.probability/development.ratio': [0.5, 0],
  [`${COMPOSITE}.probability.ratio`]: [0.5, 0],
  [`${RULE}.attribute_values.key`]: ['a', 'b'],
  [`${RULE}.attribute_values.values[]`]: ['lost', 'failed'],
  [`${RULE}.attribute_patterns.key`]: ['a', 'b'],
  [`${RULE}.attribute_patterns.included[]`]: ['a*', 'b?'],
  [`${RULE}.attribute_patterns.excluded[]`]: ['a*', 'b?'],
  [`${RULE}.span_kinds[]`]: ['consumer', undefined],
  [`${RULE}.parent[]`]: ['none', 'remote'],
  ...batchSamples('logger_provider.processors[].batch'),
  'logger_provider.limits.attribute_value_length_limit': [5, 6],
  [`${LOGGER}.enabled`]: [true, false],
  [`${LOGGER}.minimum_severity`]: ['trace2', 'fatal4'],
  [`${LOGGER}.trace_based`]: [true, false],
  'meter_provider.views[].selector.instrument_name': ['celery.task.runtime', 'celery.task.*'],
  'meter_provider.views[].selector.instrument_type': ['counter', 'histogram'],
  'meter_provider.views[].selector.unit': ['s', '{task}'],
  'meter_provider.views[].selector.meter_name': [METER_NAME, '@opentelemetry/otlp-exporter'],
  'meter_provider.views[].selector.meter_version': [VERSION, '0.0.1'],
  'meter_provider.views[].stream.name': ['a', 'b'],
  'meter_provider.views[].stream.description': ['a', 'b'],
  'meter_provider.views[].stream.aggregation_cardinality_limit': [10, 20],
  'meter_provider.views[].stream.attribute_keys.included[]': ['celery.task.name', 'error.type'],
  'meter_provider.views[].stream.attribute_keys.excluded[]': ['celery.task.name', 'error.type'],
  'meter_provider.views[].stream.aggregation.explicit_bucket_histogram.boundaries[]': [1.5, -2],
  'meter_provider.views[].stream.aggregation.explicit_bucket_histogram.record_min_max': [true, false],
  'meter_provider.views[].stream.aggregation.base2_exponential_bucket_histogram.max_scale': [-10, 20],
  'meter_provider.views[].stream.aggregation.base2_exponential_bucket_histogram.max_size': [2, 160],
  'meter_provider.views[].stream.aggregation.base2_exponential_bucket_histogram.record_min_max': [
    true,
    false,
  ],
};

function batchSamples(batch: string): Readonly<Record<string, [unknown, unknown]>> {
  return Object.fromEntries([
    [`${batch}.schedule_delay`, [1, 0]],
    [`${batch}.export_timeout`, [1, 0]],
    [`${batch}.max_queue_size`, [1000, 2000]],
    [`${batch}.max_export_batch_size`, [1, 2]],
    ...['otlp_grpc', 'otlp_http'].flatMap((exporter) =>
      Object.entries(exporterSamples(exporter, 'http://a:1', 'https://b', `${batch}.exporter`)).filter(
        ([key]) => !/temporality|histogram/u.test(key),
      ),
    ),
    [`${batch}.exporter.otlp_grpc.tls.insecure`, [true, false]],
    [`${batch}.exporter.otlp_http.encoding`, ['json', 'protobuf']],
  ]);
}

function exporterSamples(
  exporter: string,
  one: string,
  other: string,
  at = 'meter_provider.readers[].periodic.exporter',
): Readonly<Record<string, [unknown, unknown]>> {
  const rows: Readonly<Record<string, [unknown, unknown]>> = {
    endpoint: [one, other],
    'tls.ca_file': [FILES.certificate, FILES.certificate.replace('/certificate', '/./certificate')],
    'tls.cert_file': [FILES.certificate, FILES.certificate.replace('/certificate', '/./certificate')],
    'tls.key_file': [FILES.key, FILES.key.replace('/key', '/./key')],
    'headers[].name': ['a', 'b'],
    'headers[].value': ['a', 'b'],
    headers_list: ['a=b', 'a=c'],
    compression: ['gzip', 'none'],
    timeout: [1000, 2000],
    temporality_preference: ['delta', 'low_memory'],
    default_histogram_aggregation: ['explicit_bucket_histogram', 'base2_exponential_bucket_histogram'],
  };
  return Object.fromEntries(
    Object.entries(rows).map(([key, values]) => [`${at}.${exporter}.${key}`, values]),
  );
}

const SCALARS = [...STANDARD].flatMap(([row, shape]) => (shape.format === undefined ? [] : [{ row, shape }]));

test('every supported key has an effect', () => {
  assert.deepEqual(SCALARS.map(({ row }) => row).sort(), Object.keys(SAMPLES).sort());
  for (const [row, [one, other]] of Object.entries(SAMPLES)) {
    const config = configOf(documentWith(row, one));
    if (other !== undefined) assert.notDeepEqual(configOf(documentWith(row, other)), config, row);
  }
});

test('every supported key refuses a value of another type, by its path', () => {
  for (const { row } of SCALARS) {
    for (const value of [{}, [1], 'no value of any key \n']) {
      // Texts of any kind are right for some.
      if (
        typeof value === 'string' &&
        /description|selector|included|excluded|headers\[\]|\.name$|endpoint|_patterns\.key|_values\.key/.test(
          row,
        )
      )
        continue;
      const mistakes = mistakesOf(documentWith(row, value));
      assert.ok(
        mistakes.some((line) => line.startsWith(`${shown(row)} (f:`)),
        `${row}: ${mistakes.join('\n')}`,
      );
    }
  }
});

test('a key without a value is like a missing one, unless it is required', () => {
  const required = SCALARS.filter(({ shape }) => shape.required !== undefined).map(({ row }) => row);
  const pipelines = ['logger_provider.processors[].batch', 'meter_provider.readers[].periodic'];
  const headersIn = (pipeline: string) =>
    ['otlp_grpc', 'otlp_http'].map((exporter) => `${pipeline}.exporter.${exporter}.headers[].name`);
  assert.deepEqual(required.sort(), [
    'file_format',
    ...pipelines.flatMap(headersIn),
    'resource.attributes[].name',
    ...headersIn('tracer_provider.processors[].batch'),
    `${RULE}.attribute_patterns.key`,
    `${RULE}.attribute_values.key`,
  ]);
  for (const { row } of SCALARS) {
    // Items of lists, the criteria of a view and what belongs together are there or not.
    if (required.includes(row) || /\[\]$|selector|cert_file|key_file/.test(row)) continue;
    const loaded = load(documentWith(row, null));
    // Of a closed list the schema has it that there is a value, though its types have null too.
    const mistakes = loaded.ok ? [] : loaded.mistakes.map(({ expected }) => expected);
    for (const mistake of mistakes)
      assert.match(mistake, /schema: it must be equal to one of the allowed/, row);
  }
});

test('an unknown key is a mistake with a suggestion, and only supported keys are listed', () => {
  const text = (extra: string) => `file_format: "1.0"\n${extra}\n`;
  const cases: [text: string, mistake: string][] = [
    [
      text('resource:\n  attribute: []'),
      'resource.attribute (f:3): expected a known key (did you mean attributes?)',
    ],
    [
      text('resource:\n  x: 1'),
      'resource.x (f:3): expected a known key (known keys: attributes, attributes_list)',
    ],
    [text('__proto__: 1'), '__proto__ (f:2): expected a known key '],
    [text('resource.attributes: []'), 'resource.attributes (f:2): expected a known key '],
  ];
  for (const [document, mistake] of cases) {
    const mistakes = mistakesOf(document);
    assert.ok(
      mistakes.some((line) =>
        line.startsWith(mistake.replace(/^resource\.attributes /, '["resource.attributes"] ')),
      ),
      mistakes.join('\n'),
    );
  }
});

test('a missing required key is reported by its path, with what to add', () => {
  const [format, provider, ...more] = mistakesOf('celery: { services: { a: { broker_url: "amqp://a" } } }\n');
  assert.deepEqual(more, []);
  assert.equal(format, 'file_format (f:1): expected a value: "1.0" or "1.1", in quotes');
  assert.match(
    provider ?? '',
    /^meter_provider \(f:1\): expected a value: a section that says where to export metrics, such as \{ readers: .*4317/,
  );
  const least =
    'file_format: "1.1"\ncelery: { services: { a: { broker_url: "amqp://a" } } }\nmeter_provider:\n';
  assert.match(mistakesOf(least).join('\n'), /^meter_provider \(f:1\): expected a value: a section/m);
  assert.deepEqual(mistakesOf(`${least}  views:\n    - stream: {}\n`), [
    'meter_provider.readers (f:3): expected a value: a list of one periodic reader',
    'meter_provider.views[0].selector (f:5): expected a value: the instruments that it selects',
  ]);
  assert.deepEqual(mistakesOf(`${least}  readers: [ { periodic: { interval: 5 } } ]\n`), [
    'meter_provider.readers[0].periodic.exporter (f:4): expected a value: otlp_grpc or otlp_http, with its settings',
  ]);
});

test('a file_format that is a number, or another version, is refused', () => {
  for (const [version, value] of [
    ['1.0', '"1"'],
    ['"0.4"', '"0.4"'],
    ['"1.2"', '"1.2"'],
    ['"2.0"', '"2.0"'],
  ]) {
    const [mistake] = mistakesOf(`file_format: ${version}\n`).filter((line) =>
      line.startsWith('file_format'),
    );
    assert.ok(mistake?.startsWith(`file_format (f:1) is ${value}: expected one of 1.0, 1.1`), mistake);
  }
});

test('there is one reader, with one exporter', () => {
  const reader = '{ periodic: { exporter: { otlp_grpc: } } }';
  const text = (readers: string) =>
    `file_format: "1.0"\ncelery: { services: { a: { broker_url: "amqp://a" } } }\nmeter_provider: { readers: ${readers} }\n`;
  const cases: [readers: string, mistake: string][] = [
    [
      `[ ${reader}, ${reader} ]`,
      'meter_provider.readers[1] (f:3): expected only one reader, because all services',
    ],
    ['[ {} ]', 'meter_provider.readers[0] (f:3): expected only periodic'],
    [
      '[ { periodic: { exporter: { otlp_grpc: {}, otlp_http: {} } } } ]',
      'meter_provider.readers[0].periodic.exporter (f:3): expected exactly one of otlp_grpc, otlp_http',
    ],
    [
      '[]',
      'meter_provider.readers (f:3): expected a value valid by the OpenTelemetry schema: it must NOT have fewer than 1',
    ],
    ['{}', 'meter_provider.readers (f:3): expected a list of maps'],
  ];
  for (const [readers, mistake] of cases) {
    const mistakes = mistakesOf(text(readers));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.ok(mistakes[0]?.startsWith(mistake), mistakes[0]);
  }
});
