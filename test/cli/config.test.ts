import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { config } from '../../src/cli/config.ts';
import { EXAMPLE, fileWith, METER_PROVIDER } from '../config/configuration-files.ts';
import { makeTlsFiles } from '../config/tls-files.ts';
import { processIo } from './process-io.ts';

const SCHEMA = readFileSync(new URL('../../schema/celery.schema.json', import.meta.url), 'utf8');

const ENV = { CELERY_BROKER_URL: 'amqp://me:hunter2@rabbit', OTEL_SERVICE_NAME: 'shop' };
const FILE = `file_format: "1.0"
${METER_PROVIDER}
celery:
  services:
    shop: { broker_url: "amqp://me:hunter2@a" }
    billing: { broker_url: "amqp://b", worker_timeout: 5 }
`;

test('config prints the effective configuration, each value with its origin, without secrets', async () => {
  const { io, stdout, stderr } = processIo(ENV);
  assert.equal(await config(['--tasks-max', '7', '--all'], io), 0);
  assert.equal(stderr(), '');
  const lines = stdout().split('\n');
  for (const line of [
    'celery.services.shop.broker_url[0]: amqp://me:***@rabbit:5672//  # CELERY_BROKER_URL',
    'celery.services.shop.tasks_max: 7  # --tasks-max',
    'celery.services.shop.worker_timeout: 30  # default',
  ])
    assert.ok(lines.includes(line), stdout());
  for (const line of lines.slice(0, -1)) assert.match(line, /^\S.*: .+ {2}# .+$/);
  assert.ok(!stdout().includes('hunter2'));
});

test('without --all, only what was set is printed, and how much more there is', async () => {
  const { io, stdout } = processIo(ENV);
  assert.equal(await config(['--tasks-max', '7'], io), 0);
  assert.match(
    stdout(),
    /^celery\.services\.shop\.broker_url\[0\]: .+\n.+tasks_max: 7 {2}# --tasks-max\n.+: shop {2}# OTEL_SERVICE_NAME\n# \d\d more values are defaults; --all prints them\n$/u,
  );
});

test('for a file, all services are printed with the lines of their values', async () => {
  const file = fileWith(FILE);
  const { io, stdout } = processIo({});
  assert.equal(await config(['--config', file, '--all'], io), 0);
  assert.match(stdout(), /^celery\.services\.shop\.worker_timeout: 30 {2}# default$/m);
  assert.ok(stdout().includes(`celery.services.billing.worker_timeout: 5  # ${file}:6\n`), stdout());
});

test('invalid options exit with 78, all mistakes on stderr and nothing on stdout', async () => {
  const file = fileWith(
    FILE.replace('worker_timeout: 5', 'worker_timeot: 5').replace('amqp://b', 'ampq://b'),
  );
  const { io, stdout, stderr } = processIo({ LOG_LEVEL: 'loud' });
  assert.equal(await config(['--config', file, '--service-name=x'], io), 78);
  assert.equal(stdout(), '');
  assert.deepEqual(stderr().replaceAll(file, 'f').split('\n'), [
    'celery-otel run would not start, 4 mistakes in its options:',
    '  service_name (--service-name): expected no such flag with f; set celery.services there',
    '  log_level (LOG_LEVEL) is "loud": expected one of trace, debug, info, warn, error, fatal, silent',
    '  celery.services.billing.worker_timeot (f:6): expected a known key (did you mean worker_timeout?)',
    '  celery.services.billing.broker_url (f:6) is "ampq://***": expected a broker address ' +
      '(ampq:// is not known; expected amqp://, amqps://, pyamqp://, redis://, rediss://, redis+socket://, sentinel:// or recording:FILE)',
    'Try: celery-otel config --help',
    'Try: celery-otel config --example, a complete file with comments; docs/configuration.md, "One configuration file"',
    '',
  ]);
});

test('the example and the schema need no options', async () => {
  for (const [flag, text] of [
    ['--example', EXAMPLE],
    ['--example=several', EXAMPLE],
    ['--schema', SCHEMA],
    ['--schema=true', SCHEMA],
  ] as const) {
    const { io, stdout } = processIo({ OTEL_CONFIG_FILE: '/nowhere' });
    assert.equal(await config([flag], io), 0);
    assert.equal(stdout(), text);
  }
  const { io, stdout } = processIo(ENV);
  assert.equal(await config(['--schema=false', '--all'], io), 0);
  assert.match(stdout(), /^log_level: info/);
});

for (const example of ['one', 'redis', 'sentinel', 'tls'])
  test(`the example ${example} is a whole file, which needs only its secrets`, async (t) => {
    const printed = processIo({});
    assert.equal(await config(['--example', example], printed.io), 0);
    const { folder, certificate, key } = makeTlsFiles();
    for (const name of ['ca.pem', 'client.pem']) copyFileSync(certificate, join(folder, name));
    copyFileSync(key, join(folder, 'client.key'));
    const secrets = { SHOP_BROKER_PASSWORD: 'hunter2', SHOP_SENTINEL_PASSWORD: 'hunter3' };
    // A file takes its variables from the environment of the process.
    Object.assign(process.env, secrets, { TLS_FOLDER: folder });
    t.after(() => {
      for (const name of [...Object.keys(secrets), 'TLS_FOLDER']) delete process.env[name];
    });
    const loaded = processIo({});
    assert.equal(await config(['--config', fileWith(printed.stdout())], loaded.io), 0, loaded.stderr());
    assert.equal(loaded.stderr(), '');
    assert.match(loaded.stdout(), /^celery\.services\.shop\.broker_url\[0\]: .+:\*\*\*@/mu);
    assert.doesNotMatch(loaded.stdout(), /hunter/u);
  });

test('any other flag together with --example or --schema is a mistake', async () => {
  const { io, stdout, stderr } = processIo({});
  assert.equal(await config(['--example', '--schema', '--tasks-max=5', '--nonsense'], io), 78);
  assert.equal(stdout(), '');
  assert.deepEqual(stderr().split('\n').slice(1, -2), [
    '  command line (--nonsense): expected a flag of config',
    '  schema (--schema): expected no other option with --example',
    '  tasks_max (--tasks-max): expected no other option with --example',
  ]);
  const wrong = processIo(ENV);
  assert.equal(await config(['--example=maybe'], wrong.io), 78);
  assert.match(wrong.stderr(), /example \(--example\) is "maybe": expected one of several, one, redis, /);
});
