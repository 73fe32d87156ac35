/** The channels of events, as kombu names them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventPatterns } from '../../../src/broker/redis/channels.ts';

const DEFAULTS = { globalKeyprefix: '', fanoutPrefix: '/{db}.', fanoutPatterns: true };
const REDIS = { scheme: 'redis', db: 0 } as const;

const CASES = [
  ['the default', REDIS, {}, ['/0.celeryev/*']],
  ['another database', { scheme: 'rediss', db: 3 }, {}, ['/3.celeryev/*']],
  ['a prefix of all keys', { scheme: 'redis', db: 3 }, { globalKeyprefix: 'pfx:' }, ['pfx:/3.celeryev/*']],
  ['no prefix of channels', REDIS, { fanoutPrefix: '' }, ['celeryev/*']],
  ['another prefix', { scheme: 'redis', db: 7 }, { fanoutPrefix: 'x{db}y{db}.' }, ['x7y7.celeryev/*']],
  ['no patterns', REDIS, { fanoutPatterns: false }, ['/0.celeryev']],
  ['neither', REDIS, { fanoutPrefix: '', fanoutPatterns: false }, ['celeryev']],
  ['sentinels: both forms', { scheme: 'sentinel', db: 2 }, {}, ['/2.celeryev/*', '/{db}.celeryev/*']],
  ['sentinels without a number', { scheme: 'sentinel', db: 2 }, { fanoutPrefix: 'x.' }, ['x.celeryev/*']],
] as const;

for (const [name, url, settings, patterns] of CASES) {
  test(`${name}: ${patterns.join(' and ')}`, () => {
    assert.deepEqual(eventPatterns('celeryev', url, { ...DEFAULTS, ...settings }), patterns);
  });
}
