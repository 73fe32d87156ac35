/**
 * The lock file names the packages of every platform. npm leaves out those that the registry did not show it when the
 * file was written, and then refuses the file as a whole: `npm ci` fails on every platform.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import lock from '../../package-lock.json' with { type: 'json' };

const CONTRIBUTING = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8');

interface Row {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test('every optional package that another one names has an entry', () => {
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

test('every package has a hash, except tools built for other platforms', () => {
  const packages = Object.entries<Row>(lock.packages).filter(([place]) => place !== '');
  const without = packages.filter(([, { integrity }]) => integrity === undefined);
  const other = without.filter(
    ([place, { dev, optional }]) =>
      dev === true &&
      optional === true &&
      /^node_modules\/(?:@biomejs\/cli|@oxc-parser\/binding)-/u.test(place),
  );
  assert.deepEqual(without, other);
  const reported = /(\d+) entries of\s+the lock file have no `integrity`/u.exec(CONTRIBUTING)?.[1];
  assert.equal(Number(reported), without.length);
});
