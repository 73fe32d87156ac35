import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failed, received, sent, started, T0_MS, type Watched, watch } from '../events.ts';

/** A name of the greatest length. */
const LONG = 'x'.repeat(255);

function bytesOf({ cluster }: Watched): number {
  return cluster.tables().tasks.bytes;
}

for (const [what, events] of Object.entries({
  'was received': [received()],
  'has begun': [received(), started()],
  'is over': [received(), started(), failed('KeyError')],
})) {
  test(`the texts of a late task-sent for a task that ${what} are weighed`, () => {
    const [long, short] = [watch(), watch()];
    for (const on of [long, short]) {
      for (const event of events) on.cluster.apply(event, T0_MS);
      on.cluster.flush();
    }
    const name = { name: LONG, queue: LONG, timestampMs: T0_MS - 1 };
    const before = bytesOf(long);
    long.cluster.apply(sent(name), T0_MS);
    short.cluster.apply(sent({ ...name, name: 'x', queue: 'x' }), T0_MS);
    assert.ok(
      bytesOf(long) - before >= 2 * 2 * (LONG.length - 'shop.pay'.length),
      `${bytesOf(long) - before}`,
    );
    assert.ok(bytesOf(long) - bytesOf(short) >= 2 * 2 * (LONG.length - 1));
  });
}
