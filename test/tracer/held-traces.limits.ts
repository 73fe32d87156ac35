/** The memory of what is held until traces are over is no more than is counted, at the rate that the documents name. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createCluster } from '../../src/cluster/cluster.ts';
import type { Finished } from '../../src/tracer/ancestry/finished.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import { HeldTraces } from '../../src/tracer/held-traces.ts';
import { bound } from '../bound.ts';
import { received, SETTINGS, sent, started, succeeded, T0_MS } from '../cluster/events.ts';
import { heapBytes } from '../otlp/collect/memory.ts';

const TASKS = 50_000;
const EVERY_MS = 0.2;

test('ten seconds of 5,000 tasks a second', (t) => {
  const held = new HeldTraces(300_000);
  let early = 0;
  const hold = (finished: Finished): void => {
    held.opened(finished.traceRootId, false, finished.reportedMs);
    early += held.add(finished, undefined).length;
    held.closed(finished.traceRootId, finished.reportedMs);
  };
  const listener = { service: 'shop', onFinished: hold, beginsTrace: () => false, delayMaxMs: 600_000 };
  const cluster = createCluster(
    { ...SETTINGS, tasksMax: 100, heldMax: 100 },
    () => {},
    finishedRuns(listener),
  );
  const before = heapBytes();
  for (let task = 0; task < TASKS; task += 1) {
    const uuid = Buffer.from(randomUUID()).toString('latin1');
    const extras = { lineage: { rootId: Buffer.from(uuid).toString('latin1'), parentId: '' } };
    const timestampMs = T0_MS + task * EVERY_MS;
    for (const event of [
      sent({ uuid, extras }),
      received({ uuid, extras }),
      started({ uuid }),
      succeeded({ uuid }),
    ])
      cluster.apply({ ...event, timestampMs, clock: task }, timestampMs, timestampMs);
  }
  cluster.flush();
  const grown = heapBytes() - before;
  assert.deepEqual([early, held.traces], [0, TASKS]);
  bound(t, 'heap of what is held, of what is counted', (100 * grown) / held.bytes, 100, '%');
});
