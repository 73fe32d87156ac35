/** A flood of tasks whose ids and arguments are as long as they may be. */
import assert from 'node:assert/strict';
import { received, sent, started, T0_MS } from './events.ts';
import { listening } from './listening.ts';

/** Asserts after each task that the tables are within their bounds, and at the end that something did not fit. */
export function floodOfTexts(tasksMax: number) {
  const on = listening({ tasksMax, heldMax: 2_000 }, { beginsTrace: () => true, delayMaxMs: 0 });
  on.reported.push = () => 0;
  on.asked.push = () => 0;
  for (let index = 0; index < 6 * tasksMax; index += 1) {
    const [uuid, timestampMs] = [`u${index}`, T0_MS + index];
    const lineage = { rootId: `r${index}`.padEnd(255, '一'), parentId: `u${index - 7}`.padEnd(255, '一') };
    const texts = { args: `a${index}`.padEnd(1024, '一'), kwargs: '{}' };
    const of = { uuid, timestampMs, clock: index, extras: { lineage, arguments: texts } };
    on.cluster.apply(sent(of), timestampMs);
    for (const retries of [0, 1, 0, 2])
      on.cluster.apply(received({ ...of, retries, clock: 4 * index + retries }), timestampMs);
    if (index % 3 === 0) on.cluster.apply(started({ uuid, timestampMs, clock: 4 * index + 3 }), timestampMs);
    const { tasks, reordering_window: held } = on.cluster.tables();
    assert.ok(tasks.bytes <= tasks.bytesMax && held.bytes <= held.bytesMax);
  }
  assert.ok(on.cluster.beyondFixedBounds() > 0);
  return on;
}
