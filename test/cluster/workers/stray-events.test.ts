import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../../../src/cluster/names.ts';
import { HeldWorkerEvent } from '../../../src/cluster/window/held-worker-events.ts';
import { StrayEvents } from '../../../src/cluster/workers/stray-events.ts';
import { heartbeat } from '../stories.ts';

function eventAt(arrivedAtMs: number): HeldWorkerEvent {
  const event = heartbeat(0);
  return new HeldWorkerEvent(event, new Names(), { arrivedAtMs, seenMs: arrivedAtMs, session: 0 });
}

test('one event proves nothing; a second one does, though the process has sent another meanwhile', () => {
  const strays = new StrayEvents();
  const [first, second] = [eventAt(0), eventAt(1)];
  assert.equal(strays.add(first, false), undefined);
  strays.noteOwn(1);
  assert.deepEqual(strays.add(second, false), { first, events: [first, second] });
});

test('a process that goes on for ten seconds has not been replaced', () => {
  const strays = new StrayEvents();
  strays.add(eventAt(0), false);
  strays.noteOwn(10_000);
  assert.equal(strays.add(eventAt(10_001), false), undefined);
});

test('events from before prove a restart once they have gone on for ten seconds, and the process has not', () => {
  const strays = new StrayEvents();
  strays.add(eventAt(0), true);
  strays.noteOwn(1);
  const [first, last] = [eventAt(5_000), eventAt(15_000)];
  assert.equal(strays.add(first, true), undefined);
  assert.equal(strays.add(eventAt(14_999), true), undefined);
  assert.deepEqual(strays.add(last, true), { first, events: [first, last] });
});

test('where the clock has caught up meanwhile, the events from before were the first ones', () => {
  const strays = new StrayEvents();
  const [early, first, second] = [eventAt(0), eventAt(1), eventAt(2)];
  strays.add(early, true);
  strays.add(first, false);
  assert.deepEqual(strays.add(second, false), { first: early, events: [first, second] });
});
