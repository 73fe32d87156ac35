import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskUrl, quote } from '../../../src/config/format/redaction.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { describeMistake } from '../../../src/config/mistake.ts';
import { envOf } from '../../../src/config/options.ts';
import { fc } from '../../seed.ts';
import { sources } from '../sources.ts';

const SECRET = 'hunter2';

/** All output about an invalid configuration that contains the secret. */
function said(argv: readonly string[], env: Record<string, string>): string {
  const loaded = loadConfig(sources('run', { argv, env: { ...env, CELERY_OTEL_TASKS_MAX: 'wrong' } }));
  assert.ok(!loaded.ok);
  return loaded.mistakes.map(describeMistake).join('\n');
}

test('no secret of a malformed broker address is shown', () => {
  const addresses = [
    `amqp://me:${SECRET}@rabbit:wrong//`,
    `amqp://me:${SECRET}`,
    `amqp://me:pa;${SECRET}@rabbit//`,
    `amqp://me:pa/${SECRET}@rabbit//`,
    `amqp://me:pa#${SECRET}@rabbit//`,
    `amqp://me:pa?${SECRET}@rabbit//`,
    `amqp://me:pa@${SECRET}@rabbit:wrong//`,
    `amqp://me:${SECRET}@a;amqp://me:${SECRET}@b;;`,
    `amqp://rabbit?password=${SECRET}`,
    `amqp://rabbit/vhost@rabbit?password=${SECRET}`,
    `redis://:${SECRET}@redis/zero`,
    `redis://:pa/${SECRET}@redis/0`,
    `rediss://:${SECRET}@redis?ssl_cert_reqs=maybe`,
    `redis+socket://:${SECRET}@run/redis.sock`,
    `sentinel://a;sentinel://:${SECRET}@b:wrong`,
    `valkey://:${SECRET}@redis/0`,
    `redis://redis?password=${SECRET}`,
    `me:${SECRET}@rabbit`,
    `${SECRET}`,
    `recording:${SECRET}@rabbit?speed=no`,
    `recording://${SECRET}`,
  ];
  for (const address of addresses) {
    const text = said([], { CELERY_BROKER_URL: address });
    assert.match(text, /broker_url \(CELERY_BROKER_URL\)/, address);
    assert.ok(!text.includes(SECRET), text);
    assert.ok(!said([`--broker-url=${address}`], {}).includes(SECRET));
    assert.ok(!said(['--broker-url', address], {}).includes(SECRET));
  }
});

test('no secret of malformed headers is shown, not even in place of a key', () => {
  const headers = [
    `${SECRET}`,
    `${SECRET}=`,
    `api key=${SECRET}`,
    `a=${SECRET},b`,
    `a=%${SECRET}`,
    `a-bin=${SECRET}`,
  ];
  for (const text of headers) {
    for (const name of envOf('otlp_headers')) {
      const all = said([], { [name]: text });
      assert.match(all, new RegExp(`otlp_headers \\(${name}\\) is "\\*\\*\\*"`));
      assert.ok(!all.includes(SECRET), all);
    }
  }
});

test('no secret in a stray argument is shown', () => {
  const lines = [
    [`--brokr-url=amqp://me:${SECRET}@rabbit`],
    ['--brokr-url', `amqp://me:${SECRET}@rabbit`],
    ['--otlp-headers', 'authorization=Basic', SECRET],
    [`amqp://me:${SECRET}@rabbit`],
    ['--broker-url', `-${SECRET}`],
    ['--otlp-headers', `--${SECRET}=x`],
    ['--', SECRET],
    ['--otlp-endpoint', `http://me:${SECRET}@collector:4317`],
  ];
  for (const argv of lines) {
    const text = said(argv, {});
    assert.ok(!text.includes(SECRET), text);
  }
});

test('a masked address shows its host and no password', () => {
  assert.equal(maskUrl('amqp://me:secret@rabbit:5672//'), '"amqp://***@rabbit:5672"');
  const password = fc.string({ minLength: 4, unit: 'binary' });
  fc.assert(
    fc.property(password, fc.constantFrom('', 'h', 'h:1//', 'h/v?x=1'), (secret, rest) => {
      const shown = maskUrl(`amqp://me:${secret}@${rest}`);
      // What is left of the address is short; the secret must not be part of it unless it is part of the rest.
      assert.ok(['"amqp://***"', '"amqp://***@h"', '"amqp://***@h:1"'].includes(shown), shown);
    }),
  );
});

test('a quoted value is on one line, escaped and bounded', () => {
  assert.equal(quote('a\u001b[31m\n\u009b\u202e"'), '"a\\u001b[31m\\n\\u009b\\u202e\\""');
  assert.ok(quote('x'.repeat(1000)).length < 200);
});
