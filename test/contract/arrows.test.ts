/** The sources follow the table of rooms, and a breach would be detected. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBreaches, findCycles } from './arrows.ts';
import { parseSource, readSources } from './sources.ts';

const sources = readSources();

test('every file is in a room and imports only what its room may import', () => {
  assert.deepEqual(findBreaches(sources), []);
});

test('there are no import cycles', () => {
  assert.deepEqual(findCycles(sources), []);
});

test('the scan finds the sources and their imports', () => {
  const paths = sources.map((source) => source.path);
  for (const file of [
    'index.ts',
    'bridge/bridge.ts',
    'service/service.ts',
    'cli/main.ts',
    'celery/decode.ts',
  ]) {
    assert.ok(paths.includes(file), `${file} is not among the files that were read`);
  }
  const decode = sources.find((source) => source.path === 'celery/decode.ts');
  const contract = decode?.imports.find(({ specifier }) => specifier === '../broker/broker.ts');
  assert.deepEqual({ typeOnly: contract?.typeOnly }, { typeOnly: true });
});

/** A file, a text that breaks the table, and the expected message. */
const BREACHES: readonly (readonly [path: string, text: string, says: RegExp])[] = [
  [
    'celery/a.ts',
    `import { open } from 'node:fs';`,
    /imports node:fs: .*belongs in .*broker\/amqp\/ .*config\/ .*cli\//,
  ],
  ['celery/a.ts', `import fs from 'fs';`, /imports fs: celery\/ is for bytes/],
  ['celery/a.ts', `import * as timers from 'node:timers/promises';`, /imports node:timers\/promises/],
  [
    'celery/a.ts',
    `import type { Task } from '../cluster/task-table.ts';`,
    /Data flows .*never knows cluster\//,
  ],
  [
    'celery/a.ts',
    `import { AMQP } from '../broker/amqp.ts';`,
    /celery\/ .* may know broker\/broker\.ts\. What only broker\//,
  ],
  ['celery/a.ts', `import { x } from '../broker/broker.ts';`, /may only import types of it/],
  ['celery/a.ts', `import { type X } from '../broker/broker.ts';`, /may only import types of it/],
  ['celery/a.ts', `export * from '../meter/catalog.ts';`, /never knows meter\//],
  ['celery/a.ts', `const x = await import('../service/service.ts');`, /imports \.\.\/service\/service\.ts/],
  ['celery/a.ts', 'const now = Date.now();', /uses Date\.now in celery\/: take the time as an argument/],
  ['cluster/a.ts', 'const now = new Date();', /uses Date\(\).*take the time/],
  ['cluster/a.ts', 'const clock = Date;', /uses Date\(\).*take the time/],
  ['cluster/a.ts', `const r = \`a \${Math.random()} b\`;`, /uses Math\.random/],
  ['cluster/a.ts', 'setTimeout(() => {}, 1);', /uses setTimeout.*return what is due/],
  ['cluster/a.ts', 'const t = performance.now();', /uses performance\.now/],
  ['cluster/a.ts', 'const { hrtime } = process;', /uses process in cluster\//],
  ['cluster/a.ts', 'const m = process.memoryUsage();', /uses process\.memoryUsage/],
  ['cluster/a.ts', `import type { M } from '../meter/catalog.ts';`, /never knows meter\//],
  ['meter/a.ts', `import { View } from '@opentelemetry/sdk-metrics';`, /belongs in otlp\//],
  [
    'meter/a.ts',
    `import type { CeleryEvent } from '../celery/event.ts';`,
    /may know tracer\/ancestry\/finished\.ts, cluster\/observation\.ts/,
  ],
  ['meter/a.ts', `import type { P } from '../otlp/provider.ts';`, /never knows otlp\//],
  ['otlp/a.ts', `import { METRICS } from '../meter/catalog.ts';`, /may know tracer\/span\.ts/],
  ['otlp/a.ts', `import net from 'node:net';`, /belongs in broker\//],
  ['broker/a.ts', `import { credentials } from '@grpc/grpc-js';`, /belongs in otlp\//],
  ['broker/a.ts', `import lodash from 'lodash';`, /no room yet/],
  ['broker/a.ts', `import { EventEmitter } from 'node:events';`, /imports node:events/],
  ['broker/a.ts', `process.once('SIGTERM', stop);`, /belong in cli\//],
  ['broker/a.ts', 'process.exit(1);', /belong in cli\//],
  ['broker/a.ts', `console.log('x');`, /report a self event/],
  ['self/self-event.ts', `import { pino } from 'pino';`, /belongs in self\/self-log\.ts/],
  ['self/a.ts', `import type { C } from '../config/config.ts';`, /may know nobody/],
  ['config/a.ts', `import { amqp } from '../broker/amqp.ts';`, /may only import types/],
  ['config/a.ts', 'const env = process.env;', /uses process\.env.*cli\//],
  ['text/a.ts', `import { start } from '../bridge/bridge.ts';`, /text\/ .* may know nobody/],
  [
    'service/a.ts',
    `import type { B } from '../bridge/bridge.ts';`,
    /src\/service\/a\.ts:1 imports \.\.\/bridge\/bridge\.ts/,
  ],
  ['service/a.ts', `import { run } from '../cli/run.ts';`, /Nobody imports cli\//],
  ['index.ts', `import amqp from 'amqplib';`, /belongs in broker\//],
  ['index.ts', `const amqp = require('amqplib');`, /import what you need by name/],
  ['cli/a.ts', `import { View } from '@opentelemetry/sdk-metrics';`, /belongs in otlp\//],
  ['helpers/a.ts', 'export const a = 1;', /src\/helpers\/a\.ts is in no room/],
  ['celery/a.ts', `import { x } from '../helpers/a.ts';`, /is in no room: there is no row/],
];

for (const [file, text, says] of BREACHES) {
  test(`reports in ${file}: ${text}`, () => {
    const breaches = findBreaches([parseSource(file, text)]);
    assert.equal(breaches.length, 1, `one breach expected, not ${JSON.stringify(breaches)}`);
    assert.match(breaches[0] ?? '', says);
  });
}

/** Looks like a breach but is none. */
const HARMLESS: readonly (readonly [path: string, text: string])[] = [
  ['celery/a.ts', `// import 'node:fs'; Date.now()`],
  ['celery/a.ts', `/* process.exit() */ const text = "import 'node:fs'"; const more = 'Date.now()';`],
  ['celery/a.ts', `const text = \`Math.random() \${\`console.log \${1}\`} setTimeout(\`;`],
  ['celery/a.ts', 'const pattern = /[/"]process.exit()/u; const half = total / 2;'],
  ['celery/a.ts', 'const x = event.process; const y = { process: 1 }; const at: Date = new Date(5);'],
  [
    'celery/a.ts',
    `import { zstdDecompressSync } from 'node:zlib'; import type { RawMessage } from '../broker/broker.ts';`,
  ],
  ['cluster/a.ts', 'export const most = (a: number, b: number): number => Math.max(a, b);'],
  [
    'meter/a.ts',
    `import type { Meter } from '@opentelemetry/api'; import type { O } from '../cluster/observation.ts';`,
  ],
  [
    'otlp/a.ts',
    `import { MeterProvider } from '@opentelemetry/sdk-metrics'; import { CeleryOtelError } from '../text/errors.ts';`,
  ],
  [
    'config/a.ts',
    `import type { C } from '../cluster/cluster.ts'; import { parse } from '../broker/broker-url.ts';`,
  ],
  ['bridge/a.ts', 'const rss = process.memoryUsage().rss; const random = Math.random;'],
  [
    'cli/a.ts',
    `import { createBridge } from '../bridge/bridge.ts'; process.once('SIGTERM', () => process.exit(1));`,
  ],
];

for (const [file, text] of HARMLESS) {
  test(`accepts in ${file}: ${text}`, () => {
    assert.deepEqual(findBreaches([parseSource(file, text)]), []);
  });
}

test('reports a cycle once, also of types', () => {
  const cycle = [
    parseSource('celery/a.ts', `import type { B } from './b.ts';`),
    parseSource('celery/b.ts', `export { c } from './c.ts';`),
    parseSource('celery/c.ts', `import { a } from './a.ts';`),
    parseSource('celery/d.ts', `import { a } from './a.ts';`),
  ];
  assert.deepEqual(findCycles(cycle), ['celery/a.ts → celery/b.ts → celery/c.ts → celery/a.ts']);
});
