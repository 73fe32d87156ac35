/** The section `celery`: its keys, their types and their effect. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servicePath, serviceRows } from '../../../src/config/options.ts';
import {
  configOf,
  METER_PROVIDER,
  mistakesOf,
  setVariables,
  withCelery,
  withService,
} from '../configuration-files.ts';
import { addressFor, optionLine } from '../option-brokers.ts';
import { OPTION_CASES } from '../option-cases.ts';

const SHOP = '  services: { shop: { broker_url: "amqp://rabbit" } }';

/** A text as a YAML scalar of the type it looks like. */
const scalar = (text: string): string =>
  /^-?\d+(\.\d+)?$|^(true|false)$/i.test(text) ? text : JSON.stringify(text);

test('every option of a service is read from its section as from a flag', () => {
  for (const [key] of serviceRows()) {
    if (key === 'config') continue;
    for (const [text, value] of OPTION_CASES[key].good) {
      // The retention is at least the timeout.
      const beside = key === 'worker_timeout' ? '      series_retention: 86400\n' : '';
      const broker = key === 'broker_url' ? text : addressFor(key);
      const line = key === 'broker_url' ? '' : `      ${optionLine(key, scalar(text))}\n`;
      const { services } = configOf(
        withCelery(`  services:\n    shop:\n      broker_url: ${JSON.stringify(broker)}\n${beside}${line}`),
      );
      const shown = JSON.stringify(services[0]);
      // In milliseconds where it is in seconds.
      const inRoom = typeof value === 'number' ? [value, value * 1000] : [value];
      assert.ok(
        inRoom.some((it) => shown.includes(JSON.stringify(it))),
        `${key}: ${text}: ${shown}`,
      );
    }
  }
});

test('a malformed value is refused by its path and line, whatever its type', () => {
  for (const [key] of serviceRows()) {
    if (key === 'config') continue;
    for (const text of OPTION_CASES[key].bad) {
      const broker = key === 'broker_url' ? text : addressFor(key);
      const line = key === 'broker_url' ? '' : `      ${optionLine(key, JSON.stringify(text))}\n`;
      const mistakes = mistakesOf(
        withCelery(`  services:\n    shop:\n      broker_url: ${JSON.stringify(broker)}\n${line}`),
      );
      assert.equal(mistakes.length, 1, `${key}: ${text}: ${mistakes.join('\n')}`);
      const at = `celery.services.shop.${servicePath(key).join('.')} (f:${key === 'broker_url' ? 6 : 7})`;
      assert.ok(mistakes[0]?.startsWith(at), mistakes[0]);
    }
  }
});

test('a value of another type is refused: true for a number, a number for a string, a map for either', () => {
  const cases: [line: string, mistake: RegExp][] = [
    ['worker_timeout: true', /worker_timeout \(f:7\) is "true": expected seconds/],
    ['tasks_max: 1.5', /tasks_max \(f:7\) is "1.5": expected a whole number/],
    ['tasks_max: { a: 1 }', /tasks_max \(f:7\): expected a whole number/],
    ['tasks_max: [1]', /tasks_max \(f:7\): expected a whole number/],
    ['tasks_max:', /tasks_max \(f:7\): expected a whole number/],
    ['tasks_max: .inf', /tasks_max \(f:7\) is "Infinity": expected a whole number/],
    [
      'event_exchange: 5',
      /event_exchange \(f:7\) is "5": expected text on one line, at most 255 bytes, in quotes/,
    ],
    ['event_exchange: true', /event_exchange \(f:7\) is "true": expected text on one line, .*, in quotes/],
    ['event_exchange: ""', /event_exchange \(f:7\) is "": expected text/],
    ['event_exchange: [a]', /event_exchange \(f:7\): expected text/],
    ['broker_failover_strategy: shufle', /is "shufle": expected one of .* \(did you mean shuffle\?\)/],
    ['resource: 5', /resource \(f:7\): expected a map of attributes/],
    ['metrics: [a]', /metrics \(f:7\): expected a map of metrics/],
  ];
  for (const [line, mistake] of cases) {
    const mistakes = mistakesOf(withService(`      ${line}`));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.match(mistakes[0] ?? '', mistake);
  }
});

test('unknown keys are mistakes by their paths, with a suggestion', () => {
  const cases: [text: string, mistake: string][] = [
    [
      withCelery(`${SHOP}\n  worker_timout: 5`),
      'celery.worker_timout (f:5): expected a known key (did you mean worker_timeout?)',
    ],
    [withCelery(`${SHOP}\n  broker_url: x`), 'celery.broker_url (f:5): expected a known key'],
    [
      withCelery(`${SHOP}\n  telemetry: { enable: true }`),
      'celery.telemetry.enable (f:5): expected a known key (did you mean enabled?)',
    ],
    [
      withService('      brokr_url: x'),
      'celery.services.shop.brokr_url (f:7): expected a known key (did you mean broker_url?)',
    ],
    [withService('      services: {}'), 'celery.services.shop.services (f:7): expected a known key'],
    [withService('      log_level: info'), 'celery.services.shop.log_level (f:7): expected a known key'],
    [withService('      toString: x'), 'celery.services.shop.toString (f:7): expected a known key'],
  ];
  for (const [text, mistake] of cases) {
    const [first, ...more] = mistakesOf(text);
    assert.deepEqual(more, []);
    assert.ok(first?.startsWith(mistake), first);
  }
});

test('there is at least one service, each with a name and an address', () => {
  const name =
    'expected a service name: text on one line, at most 255 bytes, without leading or trailing spaces';
  const address = 'expected a value: a broker address, or several separated by ;';
  const cases: [section: string, mistakes: readonly string[]][] = [
    [
      '  services:',
      [
        'celery.services (f:4): expected at least one service: its service.name as the key, with a broker_url',
      ],
    ],
    [
      '  services: {}',
      [
        'celery.services (f:4): expected at least one service: its service.name as the key, with a broker_url',
      ],
    ],
    ['  services: [a]', ['celery.services (f:4): expected a map of services']],
    ['  services: { shop: }', [`celery.services.shop.broker_url (f:4): ${address}`]],
    ['  services: { shop: amqp://a }', ['celery.services.shop (f:4): expected a map of settings']],
    ['  services: { "": { broker_url: "amqp://a" } }', [`celery.services[""] (f:4): ${name}`]],
    ['  services: { " a": { broker_url: "amqp://a" } }', [`celery.services[" a"] (f:4): ${name}`]],
    ['  services: { "a\\nb": { broker_url: "amqp://a" } }', [`celery.services["a\\nb"] (f:4): ${name}`]],
    [
      `  services: { ${'é'.repeat(128)}: { broker_url: "amqp://a" } }`,
      [`celery.services["${'é'.repeat(120)}…"] (f:4): ${name}`],
    ],
  ];
  for (const [section, mistakes] of cases)
    assert.deepEqual(mistakesOf(withCelery(section)), mistakes, section);
});

test('empty sections have no effect', () => {
  const { services, self } = configOf(
    withCelery(`  metrics:
  telemetry:
  services:
    shop: { broker_url: "amqp://a", metrics: , resource: , broker_transport_options: }`),
  );
  assert.equal(services.length, 1);
  assert.equal(self.enabled, true);
});

test('an unset variable without a default in the celery section is a mistake', (t) => {
  setVariables(t, { TEST_EMPTY: '' });
  assert.deepEqual(
    mistakesOf(
      withCelery(`  worker_timeout: \${TEST_UNSET}
  services:
    shop:
      broker_url: amqp://me:\${TEST_UNSET}@rabbit/\${TEST_EMPTY}
      resource: { list: [a, "x\${TEST_UNSET}"] }
      event_exchange: x\${TEST_UNSET:-}`),
    ),
    [
      'celery.worker_timeout (f:4): expected seconds, above 0 and at most 86400 (not set in the environment: TEST_UNSET)',
      'celery.services.shop.broker_url (f:7): expected a value or a default for each variable: ' +
        `\${TEST_UNSET:-default}, \${TEST_EMPTY:-default} (not set in the environment: TEST_UNSET, TEST_EMPTY)`,
      'celery.services.shop.resource.list[1] (f:8): expected a value or a default for each variable: ' +
        `\${TEST_UNSET:-default} (not set in the environment: TEST_UNSET)`,
    ],
  );
});

test('in the standard’s sections an unset variable is empty, as specified', () => {
  const text = `file_format: "1.0"\nlog_level: info\nresource:\n  attributes_list: \${TEST_UNSET}\n${METER_PROVIDER}\n`;
  configOf(`${text}celery:\n${SHOP}\n`);
});

test('rules between options hold for each service, including the settings for all', () => {
  assert.deepEqual(
    mistakesOf(
      withCelery(`  worker_timeout: 700
  services:
    a: { broker_url: "amqp://a" }
    b: { broker_url: "amqp://b", series_retention: 699 }
    e: { broker_url: "amqp://b", series_retention: soon }
    c: { broker_url: "amqp://c", series_retention: 700 }
    d: { broker_url: "amqp://d", worker_timeout: 600 }`),
    ),
    [
      'celery.services.a.series_retention (f:6): expected a value: at least worker_timeout (700 s)',
      'celery.services.b.series_retention (f:7) is "699": expected at least worker_timeout (700 s)',
      'celery.services.e.series_retention (f:8) is "soon": expected seconds, above 0 and at most 2592000',
    ],
  );
});

test('a mistake in the settings for all services is reported once', () => {
  assert.deepEqual(
    mistakesOf(withCelery('  tasks_max: 0\n  services:\n    a: { broker_url: "amqp://a", tasks_max: 1 }'), {
      argv: ['--tasks-max=5'],
    }),
    ['celery.tasks_max (f:4) is "0": expected a whole number from 1 to 10000000'],
  );
  assert.deepEqual(
    mistakesOf(
      withCelery(
        '  tasks_max: 0\n  services:\n    a: { broker_url: "amqp://a" }\n    b: { broker_url: "amqp://b" }',
      ),
    ),
    ['celery.tasks_max (f:4) is "0": expected a whole number from 1 to 10000000'],
  );
});
