import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, type BrokerName } from '../real/brokers.ts';
import { CORRUPT_MESSAGES, floodWithCorrupt } from './corrupt-bodies.ts';
import { hostileMessages, TOO_COSTLY } from './hostile-messages.ts';
import { event, publish, publishRaw } from './publish.ts';
import { watchBroker } from './shop.ts';

interface Flood {
  readonly messages: number;
  /** So few at once that none is dropped unread. */
  readonly portion: number;
}

const FLOODS: Readonly<Record<BrokerName, Flood>> = {
  // The campaign publishes more.
  RabbitMQ: { messages: 4000, portion: 2000 },
  // Below the 8 MiB from which the bridge sheds: some messages have 5 MB. What is behind the envelope is tested above.
  Redis: { messages: 2000, portion: 400 },
};
const SEED = 20_261_121;

for (const name of BROKER_NAMES) {
  const { messages: count, portion } = FLOODS[name];
  test(`${count} hostile messages on ${name} leave it running, each counted under its reason`, async (t) => {
    const { url, sink, bridge } = await watchBroker(t, name);

    const { messages, expected } = hostileMessages(SEED, count);
    for (let from = 0; from < messages.length; from += portion) {
      const until = Math.min(from + portion, messages.length);
      await publishRaw(url, messages.slice(from, until));
      await sink.waitFor(
        'celery-otel',
        (points) => total(points, 'celery_otel.input.dropped') >= until,
        DEADLINE_MS,
      );
    }

    const points = sink.latest('celery-otel');
    const counted = Object.keys(expected).map((reason) => [
      reason,
      total(points, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': reason }),
    ]);
    assert.deepEqual(Object.fromEntries(counted), expected);
    assert.equal(
      total(points, 'celery_otel.input.dropped'),
      count,
      'nothing was counted under another reason',
    );
    assert.deepEqual(
      [...Object.keys(expected), TOO_COSTLY].sort(),
      Object.keys(REJECTION_REASONS).sort(),
      'every reason was tried',
    );

    await publish(url, [event('task-sent', { name: 'shop.after_all_that', queue: 'orders' })]);
    const after = await sink.waitFor(
      'shop',
      (latest) => total(latest, 'celery.task.sent') === 1,
      DEADLINE_MS,
    );
    assert.equal(
      after.find((point) => point.metric === 'celery.task.sent')?.attributes['celery.task.name'],
      'shop.after_all_that',
    );
    assert.ok(bridge.alive());
    const lines = bridge.log().split('\n').length;
    assert.ok(lines < 200, `the flood made ${lines} log lines`);
  });

  test(`compressed bodies beyond the time for decompression are counted as such on ${name}, each once`, async (t) => {
    const { corrupt, tooCostly, dropped } = await floodWithCorrupt(t, name);
    assert.ok(corrupt > 0);
    assert.equal(tooCostly, CORRUPT_MESSAGES - corrupt);
    assert.equal(dropped, CORRUPT_MESSAGES);
  });
}
