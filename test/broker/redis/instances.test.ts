/** Which of Redis’s clients are instances of celery-otel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countIn } from '../../../src/broker/redis/instances.ts';

const line = (name: string, db: number) =>
  `id=7 addr=127.0.0.1:5 name=${name} age=3 db=${db} psub=1 cmd=psubscribe`;

test('those with the name and the database are counted', () => {
  const clients = [
    line('celery-otel', 3),
    line('celery-otel', 3),
    line('celery-otel', 33),
    line('celery-otel-check', 3),
    line('my-celery-otel', 3),
    line('', 3),
    '',
  ];
  assert.equal(countIn(clients.join('\n'), 'celery-otel', 3), 2);
  assert.equal(countIn('', 'celery-otel', 3), 0);
});
