/** How soon a check ends that has nothing to watch. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '../../src/cli/check.ts';
import { bound } from '../bound.ts';
import { processIo } from './process-io.ts';

const ENDED_MS_MAX = 60_000;

test('a broker that is not there ends the check at once', async (t) => {
  const { io } = processIo({
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    CELERY_BROKER_URL: 'amqp://127.0.0.1:1;amqp://127.0.0.1:2',
  });
  const beganMs = performance.now();
  assert.equal(await check(['--seconds=600'], io), 2);
  bound(t, 'check of 600 s without a broker', performance.now() - beganMs, ENDED_MS_MAX, 'ms');
});
