/** The resources of spans that have a `service.name` of their own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resourceOf } from '../../../src/otlp/encode/span-resource.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { usualSpan } from './arbitrary-items.ts';

const SHOP = serviceResource('shop', { 'service.instance.id': 'i', team: 'checkout' });

const named = (index: number, serviceName: string) => ({ ...usualSpan(index), serviceName });

test('nothing but the name of the service is replaced', () => {
  const mailer = resourceOf(named(1, 'mailer'), SHOP);
  assert.deepEqual({ ...mailer.attributes }, { ...SHOP.attributes, 'service.name': 'mailer' });
  assert.equal(mailer.schemaUrl, SHOP.schemaUrl);
});
