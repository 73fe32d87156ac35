import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, METER_PROVIDER, mistakesOf, withService } from '../configuration-files.ts';

const SERVICES =
  'celery: { services: { shop: { broker_url: "amqp://a" }, billing: { broker_url: "amqp://b" } } }';

/** A file whose resource begins on line 5. */
const withResource = (resource: string, celery = SERVICES) =>
  `file_format: "1.0"\n${METER_PROVIDER}\n${celery}\nresource:\n${resource}\n`;

test('attributes have the types of the standard, and apply to all services and the bridge', () => {
  const config = configOf(
    withResource(`  attributes:
    - { name: text, value: "5" }
    - { name: string, value: a, type: string }
    - { name: bool, value: false, type: bool }
    - { name: int, value: 5, type: int }
    - { name: double, value: 0.5, type: double }
    - { name: texts, value: [a, b], type: string_array }
    - { name: bools, value: [true, false], type: bool_array }
    - { name: ints, value: [1, 2], type: int_array }
    - { name: doubles, value: [1, 2.5], type: double_array }
    - { name: ignored, value: }
    - { name: __proto__, value: x }
  attributes_list: text=less,listed=a%2Cb`),
  );
  const expected = {
    text: '5',
    listed: 'a,b',
    string: 'a',
    bool: false,
    int: 5,
    double: 0.5,
    texts: ['a', 'b'],
    bools: [true, false],
    ints: [1, 2],
    doubles: [1, 2.5],
    ['__proto__']: 'x',
  };
  assert.deepEqual(config.self.attributes, expected);
  assert.deepEqual(
    config.services.map(({ name, attributes }) => ({ name, attributes })),
    ['shop', 'billing'].map((name) => ({ name, attributes: expected })),
  );
});

test('a value of the wrong type is a mistake', () => {
  const cases: [entry: string, mistake: string][] = [
    ['{ name: a, value: 5 }', 'resource.attributes[0].value (f:6) is 5: expected a string, or a type'],
    [
      '{ name: a, value: "5", type: int }',
      'resource.attributes[0].value (f:6) is "5": expected a whole number',
    ],
    [
      '{ name: a, value: 5.5, type: int }',
      'resource.attributes[0].value (f:6) is 5.5: expected a whole number',
    ],
    [
      '{ name: a, value: .inf, type: double }',
      'resource.attributes[0].value (f:6): expected a finite number',
    ],
    [
      '{ name: a, value: [a, 1], type: string_array }',
      'resource.attributes[0].value (f:6): expected a list of strings',
    ],
    [
      '{ name: a, value: a, type: text }',
      'resource.attributes[0].type (f:6) is "text": expected one of string, ',
    ],
    ['{ name: a }', 'resource.attributes[0].value (f:6): expected a value: the value of the attribute'],
    ['{ value: a }', 'resource.attributes[0].name (f:6): expected a value: text on one line'],
  ];
  for (const [entry, mistake] of cases) {
    const mistakes = mistakesOf(withResource(`  attributes:\n    - ${entry}`));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.ok(mistakes[0]?.startsWith(mistake), mistakes[0]);
  }
});

test('a duplicate attribute is a mistake, but the list may repeat one', () => {
  const twice = '  attributes:\n    - { name: a, value: x }\n    - { name: a, value: y }';
  assert.deepEqual(mistakesOf(withResource(twice)), [
    'resource.attributes[1].value (f:7): expected each attribute only once',
  ]);
});

test('service.name is not an attribute if services have keys as names', () => {
  const hint = 'expected no service.name: the keys of celery.services name the services';
  assert.deepEqual(
    mistakesOf(
      withResource(
        '  attributes:\n    - { name: service.name, value: x }\n  attributes_list: a=b,service.name=x',
      ),
    ),
    [`resource.attributes[0].value (f:6): ${hint}`, `resource.attributes_list (f:7): ${hint}`],
  );
});

test('a service has its own typed attributes, which win', () => {
  const celery = `celery:
  services:
    shop:
      broker_url: amqp://a
      resource: { a: own, number: 5.5, flag: true, list: [1, 2], texts: [a], "": }
    billing: { broker_url: "amqp://b", resource: }`;
  const text = withResource(
    '  attributes:\n    - { name: a, value: common }\n    - { name: b, value: common }',
    celery,
  );
  assert.match(
    mistakesOf(text).join('\n'),
    /^celery\.services\.shop\.resource\[""\] \(f:7\): expected a name/,
  );
  const config = configOf(text.replace(', "":', ''));
  assert.deepEqual(
    config.services.map(({ attributes }) => attributes),
    [
      { a: 'own', b: 'common', number: 5.5, flag: true, list: [1, 2], texts: ['a'] },
      { a: 'common', b: 'common' },
    ],
  );
  assert.deepEqual(config.self.attributes, { a: 'common', b: 'common' });
});

test('an attribute of a service is a scalar or a list of one type, and not service.name', () => {
  const cases: [attribute: string, mistake: RegExp][] = [
    [
      'service.name: x',
      /resource\["service\.name"\] \(f:7\): expected no service.name: the key of the service/,
    ],
    [
      'a: { b: c }',
      /resource\.a \(f:7\): expected a string, a number, a boolean, or a list of one of these types/,
    ],
    ['a: [1, x]', /resource\.a \(f:7\): expected a string/],
    ['a: []', /resource\.a \(f:7\): expected a string/],
    ['a: .nan', /resource\.a \(f:7\): expected a string/],
    ['a:', /resource\.a \(f:7\): expected a string/],
  ];
  for (const [attribute, mistake] of cases) {
    const mistakes = mistakesOf(withService(`      resource: { ${attribute} }`));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.match(mistakes[0] ?? '', mistake);
  }
  assert.match(
    mistakesOf(withService('      resource: [a]')).join('\n'),
    /resource \(f:7\): expected a map of attributes/,
  );
});
