/** Mistakes in a file that are found before its content is interpreted. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import {
  configOf,
  fileWith,
  METER_PROVIDER,
  mistakesOf,
  setVariables,
  withService,
} from '../configuration-files.ts';

const SECRET = 'hunter2';

test('an unreadable file is a mistake of the option that names it', (t) => {
  const missing = fileWith('');
  rmSync(missing);
  const folder = fileWith('');
  rmSync(folder);
  mkdirSync(folder);
  t.after(() => rmSync(folder, { recursive: true }));
  const huge = fileWith(Buffer.alloc(1024 * 1024 + 1, '#'));
  const cases: [path: string, expected: RegExp][] = [
    [missing, /^the path of a readable file \(ENOENT\)$/],
    [folder, /^the path of a file$/],
    ['/dev/null', /^the path of a file$/],
    [huge, /^a file of at most 1048576 bytes$/],
  ];
  for (const [path, expected] of cases) {
    const byFlag = loadConfig({ argv: ['--config', path], env: {} });
    const byVariable = loadConfig({ argv: [], env: { OTEL_CONFIG_FILE: path } });
    for (const [loaded, source] of [
      [byFlag, '--config'],
      [byVariable, 'OTEL_CONFIG_FILE'],
    ] as const) {
      assert.ok(!loaded.ok);
      assert.equal(loaded.mistakes.length, 1);
      const [mistake] = loaded.mistakes;
      assert.deepEqual({ path: mistake?.path, source: mistake?.source }, { path: 'config', source });
      assert.match(mistake?.expected ?? '', expected);
    }
  }
});

test('an empty file lacks the required keys', () => {
  for (const text of ['', '# nothing\n', 'null\n']) {
    assert.match(mistakesOf(text).join('\n'), /^configuration file \(f:1\): expected file_format/m, text);
  }
  assert.match(mistakesOf('[1]\n').join('\n'), /^configuration file \(f:1\): expected a map of sections/m);
});

test('syntax errors are reported alone, each with its line', () => {
  const cases: [text: string, mistakes: readonly string[]][] = [
    ['a: "open\n', ['f:2): expected valid YAML: a missing character']],
    ['a:\n\tb: 1\n', ['f:2): expected valid YAML: indentation with spaces, not tabs']],
    ['a: 1\n? {b: 1}\n: 2\n', ['f:2): expected valid YAML: a string as the key']],
    ['a: !vault x\nb: 1\n', ['f:1): expected valid YAML: a known tag']],
    ['a: *b\n', ['f:1): expected valid YAML: an alias (*name) after its anchor']],
    ['a: 1\n---\nb: 1\n', ['f:2): expected valid YAML: one document']],
    ['a: 1\n}}}\n', ['f:2): expected valid YAML: no such character here']],
    [
      'a: *b\nc: "\\q"\n',
      ['f:1): expected valid YAML: an alias (*name) after', 'f:2): expected valid YAML: a valid escape'],
    ],
    [
      'a: 1\nb: c: d\ne: "\\q"\n',
      ['f:2): expected valid YAML: one key', 'f:3): expected valid YAML: a valid escape'],
    ],
  ];
  for (const [text, expected] of cases) {
    const mistakes = mistakesOf(text);
    assert.equal(mistakes.length, expected.length, `${text}\n${mistakes.join('\n')}`);
    for (const [index, start] of expected.entries())
      assert.ok(mistakes[index]?.startsWith(`configuration file (${start}`), mistakes[index]);
  }
});

test('a duplicate key is reported with its path and both lines', () => {
  // Behind the line that makes it a configuration.
  const twice = (path: string, line: number, first: number) =>
    `${path} (f:${line + 1}): expected each key only once (it is also on line ${first + 1})`;
  const cases: [text: string, mistakes: readonly string[]][] = [
    ['celery:\n  worker_timeout: 5\n  worker_timeout: 6\n', [twice('celery.worker_timeout', 3, 2)]],
    ['a: {x: 1, x: 2}\n', [twice('a.x', 1, 1)]],
    [
      'a:\n  - b\n  - c: 1\n    d: { e: 1 }\n    c: 2\n    c: 3\n',
      [twice('a[1].c', 5, 3), twice('a[1].c', 6, 3)],
    ],
    // One key to whoever reads it, whatever YAML makes of the two.
    ['a:\n  1: x\n  "1": y\n', [twice('a.1', 3, 2)]],
    ['x: &key name\na:\n  name: 1\n  *key : 2\n', [twice('a.name', 4, 3)]],
    [`a:\n  amqp://me:${SECRET}@a: 1\n  amqp://me:${SECRET}@a: 1\n`, [twice('a["***"]', 3, 2)]],
  ];
  for (const [text, expected] of cases)
    assert.deepEqual(mistakesOf(`file_format: "1.0"\n${text}`), expected, text);
});

test('an alias within its own anchor is refused, and so are hundreds of them', () => {
  for (const text of [
    'resource: &r { k: *r }\n',
    'celery: &c { services: { a: *c } }\n',
    'a: &a [ [ *a ] ]\n',
  ]) {
    const [mistake, ...others] = mistakesOf(text);
    assert.match(mistake ?? '', /f:1\): expected valid YAML: an alias .* not within it/u);
    assert.deepEqual(others, []);
  }
  const many = `a: &a 1\nb: [${'*a, '.repeat(20_000)}]\n`;
  assert.match(mistakesOf(many).join(), /fewer aliases/u);
});

test('aliases that would expand to gigabytes are refused', () => {
  const levels = Array.from({ length: 9 }, (_, level) => {
    const last = level === 0 ? 'x' : `*a${level - 1}`;
    return `a${level}: &a${level} [${Array.from({ length: 9 }, () => last).join(', ')}]`;
  });
  assert.deepEqual(mistakesOf(`${levels.join('\n')}\n`), [
    'configuration file (f:1): expected valid YAML: fewer aliases',
  ]);
});

test('no part of a malformed file is quoted, since it may be a secret', () => {
  const texts = [
    `${SECRET}: 1\n${SECRET}: c: d\n`,
    `broker_url:amqp://me:${SECRET}@rabbit\nb: 1\n`,
    `a: [${SECRET}\nb: ]${SECRET}\n`,
    `a: "${SECRET}\n`,
    `a: *${SECRET}\n`,
    `a: !${SECRET} x\n`,
    `%${SECRET}\na: 1\n`,
    `a: {b: ${SECRET}: c}\n`,
    `a: |${SECRET}\n`,
    `a: @${SECRET}\n`,
    `a: "\\${SECRET}"\n`,
    `a: \${1${SECRET}}\n`,
  ];
  for (const text of texts) {
    const said = mistakesOf(text).join('\n');
    assert.match(said, /^configuration file \(f:\d+\): expected /m, text);
    assert.ok(!said.includes(SECRET), said);
  }
});

test('a key that may be an address with a password is masked in paths', () => {
  const said = mistakesOf(withService(`      amqp://me:${SECRET}@rabbit//: 1\n`)).join('\n');
  assert.equal(said, 'celery.services.shop["***"] (f:7): expected a known key');
});

test('of a file that is no configuration nothing is shown', () => {
  const hash = '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o';
  const shadow = `root:${hash}:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n`;
  const own =
    'configuration file (f:1): expected file_format: "1.0", and the sections meter_provider and celery';
  assert.ok(mistakesOf(shadow).includes(own), mistakesOf(shadow).join('\n'));
  for (const text of [
    `${hash}: x\n${hash}: y\n`,
    `file_format: "1.0"\n${hash}: x\n${hash}: y\n`,
    shadow,
    `${shadow}file_format: "1.0"\n`,
    `celery:\n  ${shadow}`,
    `${hash}\n`,
    `- ${hash}\n`,
  ])
    assert.ok(!mistakesOf(text).join('\n').includes('j9T'), mistakesOf(text).join('\n'));
});

test('a map of more keys than anybody needs is refused as a whole, since its time grows with the square', () => {
  const keys = Array.from({ length: 60_000 }, (_, at) => `key${at}: ${at}\n`).join('');
  assert.deepEqual(mistakesOf(`file_format: "1.0"\n${keys}`).slice(-1), [
    'configuration file (f:1): expected a map of at most 2000 keys',
  ]);
});

test('a malformed variable reference is a mistake with its line, among all others', () => {
  const text = `file_format: "1.0"\nfoo: \${1X}\nbar: \${A:=b}\nresource: { attributes_list: "\${}" }\n`;
  const mistakes = mistakesOf(text);
  assert.equal(mistakes.filter((line) => line.includes(`every \${`)).length, 2, mistakes.join('\n'));
  for (const [start] of [
    [`configuration file (f:2): expected every \${ to begin \${NAME} or \${NAME:-default}`],
    [`configuration file (f:3): expected every \${`],
    ['foo (f:2): expected a known key'],
    ['meter_provider (f:1): expected a value: a section that says where to export metrics'],
  ] as const)
    assert.ok(
      mistakes.some((line) => line.startsWith(start)),
      `${start}\n${mistakes.join('\n')}`,
    );
});

test('variables come from the process environment, not from that of the options', (t) => {
  setVariables(t, { TEST_SECONDS: '45' });
  const text = withService(`      worker_timeout: \${TEST_SECONDS}`);
  assert.equal(configOf(text, { env: { TEST_SECONDS: '50' } }).services[0].cluster.workerTimeoutMs, 45_000);
});

test('what only the standard’s schema refuses is reported with path and line', () => {
  const text = 'file_format: "1.0"\nresource: { attributes: [] }\n';
  const mistakes = mistakesOf(
    `${text}${METER_PROVIDER}\ncelery: { services: { shop: { broker_url: "amqp://a" } } }\n`,
  );
  assert.deepEqual(mistakes, [
    'resource.attributes (f:2): expected a value valid by the OpenTelemetry schema: it must NOT have fewer than 1 items',
  ]);
});

test('aliases have the value of their anchor, where mistakes are reported', () => {
  const services = (value: string) =>
    `file_format: "1.0"\n${METER_PROVIDER}\ncelery:\n  services:\n    a: &a { broker_url: "amqp://a", tasks_max: ${value} }\n    b: *a\n`;
  assert.deepEqual(
    configOf(services('5')).services.map(({ name, cluster }) => [name, cluster.tasksMax]),
    [
      ['a', 5],
      ['b', 5],
    ],
  );
  assert.deepEqual(
    mistakesOf(services('0')).map((line) => line.split(' is ')[0]),
    ['celery.services.a.tasks_max (f:5)', 'celery.services.b.tasks_max (f:5)'],
  );
});
