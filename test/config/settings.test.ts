/** The settings that are filled from the rows: each row with a setting has its value there, in the unit of the setting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultOf, OPTIONS, optionRows, serviceRows, signalRows } from '../../src/config/options.ts';
import { settingsIn } from '../../src/config/settings.ts';
import { configOutside } from './signal-files.ts';

/** Settings that are not the value of their option: `auto` is the separator of the workers. */
const OTHERS = ['sep'];

test('each row with a setting has its default there', () => {
  const config = configOutside({
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    CELERY_OTEL_STATUS_ADDRESS: '0',
  });
  const { services, otlp, traces, logs } = config;
  assert.ok(traces !== undefined && logs !== undefined);
  const found = [
    ...settingsIn(services[0], serviceRows()),
    ...settingsIn(
      { ...config, ...otlp },
      optionRows().filter(([, { scope }]) => scope === 'process'),
    ),
    ...settingsIn(otlp, signalRows('metrics')),
    ...settingsIn(
      traces,
      signalRows('traces').filter(([, { also }]) => also === undefined),
    ),
    ...settingsIn(logs, signalRows('logs')),
  ];
  const expected = optionRows().filter(([, { setting }]) => setting !== undefined);
  assert.deepEqual([...new Set(found.map(({ key }) => key))].sort(), expected.map(([key]) => key).sort());
  for (const { key, value, scale } of found) {
    if (OTHERS.includes(key)) continue;
    const { default: byDefault, unset } = OPTIONS[key];
    const plain = byDefault === undefined ? unset : defaultOf(key);
    assert.deepEqual(value, typeof plain === 'number' ? plain * scale : plain, key);
  }
});
