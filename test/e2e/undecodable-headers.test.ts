/** Messages whose headers amqplib cannot decode, among valid ones, on a real RabbitMQ: nothing else is missed. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { field, longInteger, nestedArrays, nestedTables } from '../broker/amqp/frames.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { celeryFlavours, runPython } from '../real/celery.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { event } from './publish.ts';
import { rawPublisher } from './raw-publisher.ts';

const ROUNDS = 20;
/** Long enough for a session to end and another to begin between two rounds. */
const PAUSE_MS = 150;

/** 100 kB of headers each. */
const DEEP = [
  field('k', nestedArrays(20_000)),
  field('k', nestedTables(17_000)),
  field('k', nestedArrays(65)),
];
const LONG = field('build', longInteger(2n ** 40n));

/** Like a program whose Celery dispatcher adds headers. */
const WITH_LONG_HEADER = `
import json, sys
from kombu import Connection, Exchange, Producer
with Connection(sys.argv[1]) as connection:
    producer = Producer(connection.channel(), Exchange('celeryev', type='topic'), serializer='json')
    producer.publish(json.loads(sys.argv[2]), routing_key='task.sent', headers={'hostname': 'w1@test', 'build': 2 ** 40})
print('null')
`;

test('undecodable headers keep no other event from being counted or recorded', async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-headers-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'recording.ndjson');
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: rabbitmq.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  });
  const recording = startBridge(t, { CELERY_BROKER_URL: rabbitmq.url }, ['record', '--out', file]);
  await Promise.all([bridge, recording].map(({ logged }) => logged(/connected to/u)));

  const { publish, close } = await rawPublisher(rabbitmq.url);
  const sent = (name: string) => event('task-sent', { name, queue: 'orders' });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const headers of DEEP) publish(headers, sent('shop.deep'));
    publish(LONG, sent('shop.long'));
    publish(Buffer.alloc(0), sent('shop.honest'));
    await delay(PAUSE_MS);
  }
  await close();
  const flavours = celeryFlavours();
  for (const flavour of flavours) {
    const args = [WITH_LONG_HEADER, rabbitmq.url, JSON.stringify(sent('shop.python'))];
    await runPython(flavour, '-c', args, { broker: rabbitmq.url, backend: '' });
  }

  const counted = (points: Parameters<typeof total>[0]) =>
    Object.fromEntries(
      ['shop.honest', 'shop.long', 'shop.python', 'shop.deep'].map((name) => [
        name,
        total(points, 'celery.task.sent', { 'celery.task.name': name }),
      ]),
    );
  const points = await sink.waitFor(
    'shop',
    (latest) => total(latest, 'celery.task.sent') >= 2 * ROUNDS + flavours.length,
    DEADLINE_MS,
  );
  assert.deepEqual(counted(points), {
    'shop.honest': ROUNDS,
    'shop.long': ROUNDS,
    'shop.python': flavours.length,
    'shop.deep': 0,
  });
  const dropped = DEEP.length * ROUNDS;
  await sink.waitFor(
    'celery-otel',
    (own) =>
      total(own, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': 'undecodable-headers' }) ===
      dropped,
    DEADLINE_MS,
  );
  const lines = bridge.log().split('\n').filter(Boolean);
  assert.equal(lines.filter((line) => line.includes('connected to')).length, 1, bridge.log());
  assert.equal(lines.filter((line) => line.includes('undecodable-headers')).length, 1, bridge.log());

  recording.signal('SIGTERM');
  const { code, stdout } = await recording.ended();
  assert.equal(code, 0);
  const recorded = 2 * ROUNDS + flavours.length;
  assert.equal(stdout, `${recorded} messages are in ${file}, ${dropped} could not be recorded\n`);
  const text = readFileSync(file, 'utf8');
  assert.equal(
    text.split('\n').filter((line) => line.includes(`"build":${2 ** 40}`)).length,
    ROUNDS + flavours.length,
  );
});
