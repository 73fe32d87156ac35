/** METRICS.md is what the command prints, and what it says of resources is what they have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metrics } from '../../src/cli/metrics.ts';
import { RESOURCE_ATTRIBUTES } from '../../src/meter/attributes.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { processIo } from '../cli/process-io.ts';
import { assertGeneratedFile } from './generated-block.ts';

test('METRICS.md is what celery-otel metrics prints', async () => {
  const { io, stdout } = processIo();
  assert.equal(await metrics([], io), 0);
  assertGeneratedFile(new URL('../../METRICS.md', import.meta.url), stdout());
});

test('the documented resource attributes are those that resources have', () => {
  const { attributes } = serviceResource('celery-otel', {
    'service.instance.id': '1',
    'service.version': '1',
  });
  assert.deepEqual(Object.keys(RESOURCE_ATTRIBUTES), Object.keys(attributes).sort());
  for (const [key, { values }] of Object.entries(RESOURCE_ATTRIBUTES)) {
    if (typeof values !== 'string') assert.deepEqual(values, [attributes[key]], key);
  }
});
