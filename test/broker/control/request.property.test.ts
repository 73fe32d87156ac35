/**
 * Whatever is asked, by whomever and with which settings: each message that is published to workers is complete, and each
 * member of kombu’s set of bindings has exactly three parts. A wrong one can stop every worker that reads it.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { COMMANDS, type ControlCommand } from '../../../src/broker/control/commands.ts';
import {
  controlNames,
  controlRequest,
  type Destination,
  destinationsOf,
  replyBinding,
  requestEnvelope,
} from '../../../src/broker/control/request.ts';
import { fc } from '../../seed.ts';

const NAMES = Object.keys(COMMANDS).filter((name): name is ControlCommand => name in COMMANDS);
/** Celery’s own names of what a worker may be told, and what they take (worker/control.py). */
const HARMLESS: Readonly<Record<ControlCommand, Readonly<Record<string, unknown>>>> = {
  ping: {},
  stats: {},
  active_queues: {},
  active: { safe: true },
  reserved: {},
  scheduled: {},
  enable_events: {},
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

const command = fc.constantFrom(...NAMES);
const text = fc.string({ unit: 'binary', maxLength: 40 });
const destination = fc.option(
  fc.array(text, { minLength: 1 }).map(([first = '', ...others]): Destination => [first, ...others]),
  { nil: undefined },
);

test('each of many workers is in one request, and no request has more than 500', () => {
  fc.assert(
    fc.property(fc.nat(2_000), (count) => {
      const nodenames = Array.from({ length: count }, (_, index) => `w${index}@shop`);
      const destinations = [...destinationsOf(nodenames)];
      assert.deepEqual(destinations.flat(), nodenames);
      assert.equal(destinations.length, Math.ceil(count / 500));
      assert.ok(destinations.every(({ length }) => length > 0 && length <= 500));
    }),
  );
});

test('only harmless commands are in the table, with their fixed arguments', () => {
  assert.deepEqual(
    Object.fromEntries(Object.entries(COMMANDS).map(([name, row]) => [name, row.arguments])),
    HARMLESS,
  );
});

test('every request has all that a worker needs, and nothing else', () => {
  fc.assert(
    fc.property(
      command,
      destination,
      text,
      fc.uuid(),
      fc.uuid(),
      fc.uuid(),
      (name, to, namespace, id, ticket, tag) => {
        const names = controlNames(namespace, id);
        const request = controlRequest(name, to, names, ticket, 1.5);
        const body: unknown = JSON.parse(request.body);
        assert.deepEqual(body, {
          method: name,
          arguments: HARMLESS[name],
          destination: to ?? null,
          pattern: null,
          matcher: null,
          ticket,
          reply_to: { exchange: `reply.${namespace}.pidbox`, routing_key: id },
        });
        assert.deepEqual(request.headers, { clock: 1, expires: 1.5 });
        const envelope = JSON.parse(requestEnvelope(request, names, tag));
        assert.deepEqual(Object.keys(envelope).sort(), [
          'body',
          'content-encoding',
          'content-type',
          'headers',
          'properties',
        ]);
        assert.equal(Buffer.from(envelope.body, 'base64').toString(), request.body);
        assert.deepEqual(envelope.headers, request.headers);
        assert.equal(envelope['content-type'], 'application/json');
        assert.equal(envelope['content-encoding'], 'utf-8');
        assert.deepEqual(envelope.properties, {
          delivery_tag: tag,
          delivery_mode: 1,
          delivery_info: { exchange: `${namespace}.pidbox`, routing_key: '' },
          priority: 0,
          body_encoding: 'base64',
        });
      },
    ),
  );
});

test('a member of the set of bindings has exactly three parts, or there is none', () => {
  let made = 0;
  const separators = fc.oneof(
    fc.constant('\u0006\u0016'),
    text,
    fc.constantFrom(':', '-', 'e', '', '.', 'pidbox'),
  );
  fc.assert(
    fc.property(text, fc.uuid(), separators, (namespace, id, separator) => {
      const names = controlNames(namespace, id);
      let member: string;
      try {
        member = replyBinding(names, separator);
      } catch {
        return;
      }
      made += 1;
      assert.deepEqual(member.split(separator), [id, '', `${id}.reply.${namespace}.pidbox`]);
    }),
  );
  assert.ok(made > 30);
  assert.throws(() => replyBinding(controlNames('shop:eu', crypto.randomUUID()), ':'), /separator/u);
});

test('the id of a reply queue is a UUID', () => {
  const id = crypto.randomUUID();
  assert.match(
    controlNames('celery', id).replyQueue,
    UUID.source.startsWith('^') ? /^[0-9a-f-]{36}\.reply\.celery\.pidbox$/u : UUID,
  );
  for (const wrong of ['', 'me', `${id}\u0006\u0016`, id.toUpperCase(), `${id}\n`])
    assert.throws(() => controlNames('celery', wrong), TypeError, wrong);
});

test('nothing else is published or written at a broker: these are all places that could', () => {
  const root = fileURLToPath(new URL('../../../src/', import.meta.url));
  const writing =
    /\.(?:publish|sendToQueue|[sz]add|srem|del|unlink|[lr]push\w*|h(?:m?set|del)|xadd|eval\w*)\(/gu;
  const places = globSync('**/*.ts', { cwd: root }).flatMap((file) => {
    const calls = readFileSync(path.join(root, file), 'utf8').match(writing) ?? [];
    return calls.length === 0 ? [] : [[file, calls.map((call) => call.slice(1, -1)).sort()]];
  });
  assert.deepEqual(Object.fromEntries(places), {
    'broker/amqp/control.ts': ['publish'],
    // To a queue of our own.
    'broker/amqp/transport.ts': ['publish'],
    'broker/redis/control.ts': ['del', 'del', 'srem', 'srem'],
    'broker/redis/guarded-question.ts': ['eval'],
  });
  const script = readFileSync(path.join(root, 'broker/redis/guarded-question.ts'), 'utf8');
  const calls = [...script.matchAll(/redis\.p?call\('(?<command>\w+)'/gu)].map(
    (call) => call.groups?.['command'],
  );
  assert.deepEqual(calls, ['TYPE', 'SSCAN', 'SADD', 'PUBLISH', 'SREM']);
  for (const [transport, makers] of [
    ['amqp', ['controlRequest']],
    ['redis', ['controlRequest', 'requestEnvelope', 'replyBinding']],
  ] as const) {
    const text = readFileSync(path.join(root, `broker/${transport}/control.ts`), 'utf8');
    for (const maker of makers) assert.ok(text.includes(`${maker}(`), `${transport}: ${maker}`);
  }
});
