/** Implausible timestamps: the event is decoded with its arrival time instead, and that is noted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import { CLOCK_OFF_MS_MAX, NUMERIC_FIELDS } from '../../src/celery/numeric-fields.ts';
import { message, TRACED, WIRE_EVENTS } from './wire.ts';

const { arrivedAtMs } = message('');
const [BEFORE, AFTER] = ['more than a day before its arrival', 'more than a day after its arrival'];

const TIMES: readonly (readonly [what: string, timestamp: number, detail: string | undefined])[] = [
  ['the first second there is', NUMERIC_FIELDS.timestamp.min, BEFORE],
  ['the first day of 1970', 4711.25, BEFORE],
  ['two days ago', arrivedAtMs / 1000 - 172_800, BEFORE],
  ['a little more than a day ago', (arrivedAtMs - CLOCK_OFF_MS_MAX - 1000) / 1000, BEFORE],
  ['a day ago', (arrivedAtMs - CLOCK_OFF_MS_MAX) / 1000, undefined],
  ['the farthest time zone, taken for UTC', arrivedAtMs / 1000 - 14 * 3600, undefined],
  ['now', arrivedAtMs / 1000, undefined],
  ['the same on the other side', arrivedAtMs / 1000 + 14 * 3600, undefined],
  ['in a day', (arrivedAtMs + CLOCK_OFF_MS_MAX) / 1000, undefined],
  ['in a little more than a day', (arrivedAtMs + CLOCK_OFF_MS_MAX + 1000) / 1000, AFTER],
  ['the year 2100', 4_102_444_800, AFTER],
  ['the last second there is', NUMERIC_FIELDS.timestamp.max, AFTER],
];

for (const [what, timestamp, detail] of TIMES) {
  test(`${what}: ${detail === undefined ? 'plausible' : 'counted, and noted'}`, () => {
    for (const wire of Object.values(WIRE_EVENTS)) {
      const { events, rejections, implausible } = decode(
        message({ ...wire, timestamp }),
        0,
        undefined,
        TRACED,
      );
      assert.deepEqual(rejections, []);
      const [event] = events;
      const isPlausible = detail === undefined;
      assert.equal(event?.timestampMs, isPlausible ? timestamp * 1000 : arrivedAtMs);
      assert.equal(event.implausibleMs, isPlausible ? undefined : timestamp * 1000);
      assert.deepEqual(implausible, isPlausible ? [] : [{ field: 'timestamp', detail }]);
    }
  });
}

test('each event of a list is checked separately, and one without a time is still rejected', () => {
  const wire = WIRE_EVENTS['task-started'];
  const list = [wire, { ...wire, timestamp: 4711 }, { ...wire, timestamp: arrivedAtMs }, wire];
  const { events, rejections, implausible } = decode(message(list));
  assert.deepEqual(
    events.map(({ implausibleMs }) => implausibleMs),
    [undefined, 4_711_000, undefined],
  );
  assert.deepEqual(
    rejections.map(({ reason }) => reason),
    ['bad-timestamp'],
  );
  assert.equal(implausible.length, 1);
});
