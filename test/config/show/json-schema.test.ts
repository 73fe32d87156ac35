/** The JSON schema for editors agrees with the tables. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { fileOf, type OptionKey, servicePath, serviceRows, signalRows } from '../../../src/config/options.ts';
import { assertGeneratedFile } from '../../contract/generated-block.ts';
import { EXAMPLE } from '../configuration-files.ts';
import { OPTION_CASES } from '../option-cases.ts';
import { celerySchema } from './celery-schema.ts';
import { violations } from './json-schema-subset.ts';

const SCHEMA = JSON.parse(celerySchema());

const wrongIn = (celery: unknown): readonly string[] => violations(SCHEMA, { celery });
const withService = (more: object) => ({ services: { shop: { broker_url: 'amqp://a', ...more } } });

const withOption = (key: OptionKey, value: unknown) => withService({ ...nested(servicePath(key), value) });

const typed = (text: string, type: string): unknown => {
  if (type === 'boolean') return text.toLowerCase() === 'true';
  return type === 'string' ? text : Number(text);
};

function nested([first = '', ...rest]: readonly string[], value: unknown): object {
  return { [first]: rest.length === 0 ? value : nested(rest, value) };
}

test('schema/celery.schema.json is generated from the tables (UPDATE=1 rewrites it)', () => {
  assertGeneratedFile(new URL('../../../schema/celery.schema.json', import.meta.url), celerySchema());
});

/** Rows of what is set in a section of `celery` for a signal. */
const SIGNAL_ROWS = (['traces', 'logs'] as const).flatMap((signal) =>
  signalRows(signal)
    .filter(([, row]) => row.scope === 'signal' && row.signal === signal)
    .map(([key, row]) => ({ signal, key, name: fileOf(key)?.split('.').at(-1) ?? '', row })),
);

test('every option of traces and of logs accepts what the option does, and refuses other types', () => {
  assert.equal(SIGNAL_ROWS.length, 16);
  for (const { signal, key, name, row } of SIGNAL_ROWS) {
    if (key === 'config') continue;
    for (const [text] of OPTION_CASES[key].good)
      assert.deepEqual(wrongIn({ [signal]: { [name]: typed(text, row.format.schema.type) } }), [], key);
    for (const value of [{}, row.format.schema.type === 'string' ? 5 : 'many'])
      assert.notDeepEqual(wrongIn({ [signal]: { [name]: value } }), [], `${key}: ${value}`);
  }
  assert.deepEqual(wrongIn({ traces: null, logs: { redact: ['a', 'b'] } }), []);
  assert.deepEqual(wrongIn({ traces: { keep: ['slow'] } }), ['$.celery.traces.keep']);
});

test('values that the options accept are valid by the schema', () => {
  for (const [key, { format }] of serviceRows()) {
    if (key === 'config') continue;
    for (const [text] of OPTION_CASES[key].good) {
      const value = typed(text, format.schema.type);
      assert.deepEqual(wrongIn(withOption(key, value)), [], `${key}: ${text}`);
    }
  }
});

test('values of a wrong type, out of range or not in a list are invalid by the schema too', () => {
  for (const [key, { format }] of serviceRows()) {
    const isText = format.schema.type === 'string';
    const isSwitch = format.schema.type === 'boolean' || format.orSwitch === true;
    const others = [isText ? 5 : 'many', ...(isSwitch ? [] : [true]), {}, null];
    for (const value of [...others, isText ? '' : -1, isText ? [] : 1e12]) {
      assert.notDeepEqual(wrongIn(withOption(key, value)), [], `${key}: ${JSON.stringify(value)}`);
    }
  }
});

test('sections that the reader accepts are valid by the schema', () => {
  const entry = { enabled: true };
  const right: readonly unknown[] = [
    null,
    {},
    { metrics: null, telemetry: { enabled: `\${ON}` }, tasks_max: `\${TASKS:-5}` },
    withService({
      broker_use_ssl: true,
      resource: { a: 1, b: [true], c: 'x' },
      metrics: { 'celery.task.*': entry },
    }),
    withService({ broker_use_ssl: { ca_certs: '/ca.pem', cert_reqs: 'none' }, broker_transport_options: {} }),
    withService({
      broker_use_ssl: { ssl_ca_certs: '/ca.pem', ssl_check_hostname: false },
      broker_transport_options: {
        fanout_prefix: true,
        visibility_timeout: 5,
        priority_steps: [0, 5],
        sentinel_kwargs: { password: `\${SECRET}`, ssl: true, ssl_cert_reqs: 'none' },
      },
    }),
    withService({ broker_transport_options: { fanout_prefix: 'x', sentinel_kwargs: null } }),
    withService({ metrics: { 'celery.task.prefetch_time': { attributes: ['celery.worker.name'] } } }),
    { services: { a: { broker_url: ['amqp://a', 'amqp://b'] } }, metrics: { '*': { enabled: false } } },
  ];
  for (const celery of right) assert.deepEqual(wrongIn(celery), [], JSON.stringify(celery));
});

test('sections that the reader refuses are invalid by the schema, at the same path', () => {
  const wrong: readonly [celery: unknown, path: string][] = [
    [[], '$.celery'],
    [{ worker_timout: 5 }, '$.celery.worker_timout'],
    [{ services: {} }, '$.celery.services'],
    [{ services: { shop: {} } }, '$.celery.services.shop.broker_url'],
    [{ services: { ' shop': { broker_url: 'x' } } }, '$.celery.services. shop'],
    [{ telemetry: { enabled: 'yes' } }, '$.celery.telemetry.enabled'],
    [{ metrics: { 'celery.task.snt': { enabled: true } } }, '$.celery.metrics.celery.task.snt'],
    [{ metrics: { 'celery.task.sent': { enable: true } } }, '$.celery.metrics.celery.task.sent.enable'],
    [
      { metrics: { 'celery.task.sent': { attributes: ['a'] } } },
      '$.celery.metrics.celery.task.sent.attributes[0]',
    ],
    [withService({ brokr_url: 'x' }), '$.celery.services.shop.brokr_url'],
    [withService({ broker_use_ssl: { keyfil: 'x' } }), '$.celery.services.shop.broker_use_ssl'],
    [
      withService({ broker_use_ssl: { keyfile: 'x', ssl_certfile: 'x' } }),
      '$.celery.services.shop.broker_use_ssl',
    ],
    [
      withService({ broker_transport_options: { a: 1 } }),
      '$.celery.services.shop.broker_transport_options.a',
    ],
    [
      withService({ broker_transport_options: { sentinel_kwargs: { pasword: 'x' } } }),
      '$.celery.services.shop.broker_transport_options.sentinel_kwargs.pasword',
    ],
    [withService({ resource: { 'service.name': 'x' } }), '$.celery.services.shop.resource.service.name'],
    [withService({ resource: { a: { b: 1 } } }), '$.celery.services.shop.resource.a'],
  ];
  for (const [celery, path] of wrong)
    assert.ok(wrongIn(celery).includes(path), `${path}: ${wrongIn(celery)}`);
});

test('the example is valid by the schema, before substitution', () => {
  assert.deepEqual(violations(SCHEMA, parse(EXAMPLE)), []);
});
