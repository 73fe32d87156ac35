/** The version is in two places, since a constant needs no file at run time; this test keeps them equal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import { VERSION } from '../../src/self/version.ts';

test('the version in the code is that of package.json and the lock file', () => {
  assert.equal(VERSION, manifest.version);
  assert.equal(lock.version, manifest.version);
});
