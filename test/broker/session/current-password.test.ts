/** A password that changes in a file: whoever connects next has the new one, and nothing shows it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { parseBrokerUrls } from '../../../src/broker/broker-url.ts';
import { withPasswordFile } from '../../../src/broker/session/current-password.ts';
import { listen } from '../../../src/broker/session/session-loop.ts';
import type { SelfEvent } from '../../../src/self/self-event.ts';
import { startRedis } from '../../real/redis.ts';
import { SETTINGS } from '../broker-settings.ts';
import { Log } from '../log.ts';
import { startRedisPublisher } from '../redis/redis-publisher.ts';

function passwordFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'password-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'password');
}

function urlsOf(text: string) {
  const parsed = parseBrokerUrls(text);
  assert.ok(parsed.ok);
  return parsed.urls;
}

test('a broken connection is opened again with the password that the file has by then', async (t) => {
  const redis = await startRedis({ password: 'one' });
  t.after(() => redis.stop());
  const file = passwordFile(t);
  writeFileSync(file, 'one\n');
  const reported = new Log<SelfEvent>();
  const stopping = new AbortController();
  const listener = listen({
    ...SETTINGS,
    ...{ urls: urlsOf(redis.url), passwordFile: file, connectTimeoutMs: 5000, bodyBytesMax: 2_097_152 },
    ...{ service: 'shop', random: () => 0, signal: stopping.signal },
    deliver: () => undefined,
    report: (event) => reported.add(event),
  });
  t.after(async () => {
    stopping.abort();
    await listener.done;
  });
  const connections = (): number => reported.items.filter(({ kind }) => kind === 'broker-connected').length;
  await reported.find(() => connections() === 1);
  const { client } = await startRedisPublisher(t, redis.url.replace('//', '//:one@'));
  await client.config('SET', 'requirepass', 'two');
  writeFileSync(file, 'two\n');
  await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await reported.find(() => connections() === 2);
  assert.doesNotMatch(JSON.stringify(reported.items), /one|two/u);
});

test('a file that cannot be read is refused by the name of its option, and no password is among the properties', (t) => {
  const file = passwordFile(t);
  const [amqp, redis] = withPasswordFile(urlsOf('amqp://u:hunter2@a;redis://h'), file);
  for (const url of [amqp, redis])
    assert.throws(
      () => url && 'password' in url && url.password,
      /^Refusal: cannot read broker_password_file: ENOENT/u,
    );
  writeFileSync(file, 'hunter2\r\n');
  for (const url of [amqp, redis]) {
    assert.equal(url && 'password' in url && url.password, 'hunter2');
    assert.doesNotMatch(JSON.stringify(url) + inspect(url), /hunter2/u);
  }
});
