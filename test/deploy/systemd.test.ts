/** The unit is one that systemd takes without a remark, and is hardened; its environment is one that celery-otel takes. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { ROOT } from '../contract/sources.ts';
import { runHere } from './linters.ts';

const UNIT = readFileSync(path.join(ROOT, 'deploy/systemd/celery-otel.service'), 'utf8');
const ENVIRONMENT = readFileSync(path.join(ROOT, 'deploy/systemd/celery-otel.env.example'), 'utf8');
/** In tenths: systemd’s own word for it is “OK” up to 4.9. */
const EXPOSURE_MAX = '20';

let folder: string;
/** With a command that is there. */
let unit: string;

before(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-unit-'));
  const command = path.join(folder, 'celery-otel');
  writeFileSync(command, '#!/bin/sh\n');
  chmodSync(command, 0o755);
  unit = write('celery-otel.service', UNIT.replace('\nExecStart=celery-otel ', `\nExecStart=${command} `));
});
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

const valuesOf = (key: string): readonly string[] =>
  [...UNIT.matchAll(new RegExp(`^${key}=(.*)$`, 'gmu'))].map(([, value = '']) => value);

test('systemd has nothing to say about the unit', async () => {
  assert.deepEqual(await runHere('systemd-analyze', ['verify', unit]), { code: 0, stdout: '', stderr: '' });
});

test('a key that systemd does not know would be found', async () => {
  const wrong = write('wrong.service', readFileSync(unit, 'utf8').replace('Restart=', 'Restarting='));
  assert.match((await runHere('systemd-analyze', ['verify', wrong])).stderr, /Restarting/u);
});

test('its exposure is below 2.0', async () => {
  const judge = (file: string) =>
    runHere('systemd-analyze', ['security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, file]);
  const { code, stdout, stderr } = await judge(unit);
  assert.equal(code, 0, stdout + stderr);
  const open = write('open.service', readFileSync(unit, 'utf8').replaceAll(/^Protect.*\n/gmu, ''));
  assert.notEqual((await judge(open)).code, 0, 'the threshold has an effect');
});

test('wrong options are not tried again, and all other failures are', () => {
  assert.deepEqual(valuesOf('Restart'), ['on-failure']);
  assert.deepEqual(valuesOf('RestartPreventExitStatus'), ['78']);
  assert.deepEqual(valuesOf('StartLimitIntervalSec'), ['0']);
});

test('celery-otel gets SIGTERM, and has longer than it needs to stop', () => {
  assert.deepEqual(valuesOf('KillSignal'), [], 'the default');
  assert.deepEqual(valuesOf('KillMode'), ['mixed']);
  assert.ok(Number(valuesOf('TimeoutStopSec')[0]) > 4);
});

test('the example of the environment is complete and right', () => {
  const env = Object.fromEntries(
    [...ENVIRONMENT.matchAll(/^([A-Z_]+)=(.*)$/gmu)].map(([, name = '', value = '']) => [name, value]),
  );
  const loaded = loadConfig({ argv: [], env, refuseUnknown: true });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  assert.deepEqual(loaded.warnings, []);
  assert.equal(loaded.config.services[0].name, 'shop');
  const named = [...ENVIRONMENT.matchAll(/^#([A-Z_]+)=/gmu)].map(([, name]) => name);
  assert.deepEqual(named, [
    ...['OTEL_EXPORTER_OTLP_HEADERS', 'CELERY_OTEL_STATUS_ADDRESS'],
    ...['OTEL_CONFIG_FILE', 'NODE_EXTRA_CA_CERTS'],
  ]);
});
