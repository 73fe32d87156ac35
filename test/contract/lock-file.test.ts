/**
 * The lock file names the packages of every platform. npm leaves out those that the registry did not show it when the
 * file was written, and then refuses the file as a whole: `npm ci` fails on every platform.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import lock from '../../package-lock.json' with { type: 'json' };

interface Row {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test('every optional package that another one names has an entry of its own', () => {
  const packages = new Map<string, Row>(Object.entries(lock.packages));
  const missing = [...packages].flatMap(([place, row]) =>
    Object.entries(row.optionalDependencies ?? {})
      .filter(
        ([name]) => !packages.has(`${place}/node_modules/${name}`) && !packages.has(`node_modules/${name}`),
      )
      .map(([name, version]) => `${name}@${version}, of ${place}: add its version, os, cpu and libc`),
  );
  assert.deepEqual(missing, []);
});
