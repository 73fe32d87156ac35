import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../../../src/cluster/names.ts';
import { HeldWorkerEvent, HeldWorkerEvents } from '../../../src/cluster/window/held-worker-events.ts';
import { WorkerInstance } from '../../../src/cluster/workers/worker-instance.ts';
import { received, SETTINGS, signal, T0_MS, type Watched, watch } from '../events.ts';

const { windowMs } = SETTINGS;

interface Sender {
  /** A heartbeat at that time with this count of started tasks. */
  sends(processed: number, atMs: number, arrivedAtMs?: number): void;
}

function watched(max = 1_000): {
  readonly events: HeldWorkerEvents;
  sender(nodename: string): Sender;
  out(): readonly string[];
} {
  const events = new HeldWorkerEvents(windowMs, max);
  let out: string[] = [];
  const context = {
    windowMs,
    lostTimeoutMs: 0,
    observe: (it: { readonly kind: string; readonly worker?: string; readonly processed?: number }) =>
      out.push(`${it.worker} ${it.processed}`),
    onDisorder: () => {},
    onRestart: () => {},
  };
  return {
    events,
    sender(nodename) {
      const first = { seenMs: 0, clock: 1, reportedMs: T0_MS, place: 1, session: 0 };
      const instance = new WorkerInstance(nodename, 17, context, first);
      return {
        sends(processed, atMs, arrivedAtMs = atMs) {
          const event = signal('worker-heartbeat', { processed, clock: atMs, timestampMs: T0_MS + atMs });
          const held = new HeldWorkerEvent(event, new Names(), {
            arrivedAtMs,
            seenMs: arrivedAtMs,
            session: 0,
          });
          instance.hold(held);
          events.add(held);
        },
      };
    },
    out() {
      const news = out;
      out = [];
      return news;
    },
  };
}

test('worker events are applied in the order in which each worker sent them, once no earlier one can arrive', () => {
  const { events, sender, out } = watched();
  const [one, other] = [sender('w1'), sender('w2')];
  one.sends(0, 0);
  other.sends(0, 0);
  one.sends(7, 30, 40);
  other.sends(5, 45);
  one.sends(3, 20, 50);
  assert.equal(events.release(windowMs + 39), false);
  assert.deepEqual(out(), []);
  events.release(windowMs + 40);
  assert.deepEqual(out(), ['w1 3', 'w1 4'], 'what was sent before goes with it');
  events.release(windowMs + 50);
  assert.deepEqual(out(), ['w2 5']);
  assert.equal(events.size, 0);
  assert.equal(events.appliedEarly, 0);
});

test('what was sent before a due event counts as well', () => {
  const { events, sender, out } = watched();
  const one = sender('w1');
  for (const at of [4, 3, 2, 1, 0]) one.sends(at, at, 10);
  assert.equal(events.release(windowMs + 10, 2), true);
  assert.deepEqual(out(), ['w1 1']);
  assert.equal(events.release(windowMs + 10, 3), false);
  assert.deepEqual(out(), ['w1 1', 'w1 1', 'w1 1']);
  assert.equal(events.size, 0);
});

test('beyond the bound the event that arrived first is applied early and counted', () => {
  const { events, sender, out } = watched(3);
  const [one, other] = [sender('w1'), sender('w2')];
  one.sends(0, 0);
  one.sends(4, 1);
  other.sends(0, 2);
  assert.equal(events.appliedEarly, 0);
  other.sends(1, 3);
  other.sends(2, 4);
  assert.deepEqual(out(), ['w1 4']);
  assert.equal(events.appliedEarly, 2);
  for (let at = 5; at < 1_000; at += 1) {
    sender(`w${at}`).sends(0, at);
    assert.ok(events.size <= 3);
  }
});

const heartbeat = (hostname: string, processed: number) =>
  signal('worker-heartbeat', { hostname, processed });

function progress(on: Watched): readonly string[] {
  return on.news().flatMap((it) => (it.kind === 'worker-progressed' ? [`${it.worker} ${it.processed}`] : []));
}

test('worker events are applied with later events, without a collection', () => {
  const on = watch();
  const at = (atMs: number) => ({ timestampMs: T0_MS + atMs });
  for (const hostname of ['w1', 'w2', 'w3']) {
    on.cluster.apply({ ...heartbeat(hostname, 0), ...at(0) }, T0_MS);
    on.cluster.apply({ ...heartbeat(hostname, 4), ...at(10) }, T0_MS + 10);
  }
  on.cluster.apply({ ...received(), ...at(10 + windowMs) }, T0_MS + 10 + windowMs);
  assert.deepEqual(progress(on), ['w1 4'], 'some with each event');
  on.cluster.apply({ ...received(), ...at(10 + windowMs) }, T0_MS + 10 + windowMs);
  on.cluster.apply({ ...received(), ...at(10 + windowMs) }, T0_MS + 10 + windowMs);
  assert.deepEqual(progress(on), ['w2 4', 'w3 4']);
});

test('all workers of a full table may come online at once, and again after an outage, with nothing applied early', () => {
  const workersMax = 2_000;
  const on = watch({ workersMax, windowMs: 1_000 });
  for (const type of ['worker-online', 'worker-heartbeat', 'worker-offline', 'worker-online'] as const) {
    for (let index = 0; index < workersMax; index += 1) {
      on.cluster.apply(signal(type, { hostname: `w${index}` }), T0_MS, 0);
    }
  }
  assert.equal(on.cluster.beyondFixedBounds(), 0);
});

test('events of an evicted worker are not applied', () => {
  const on = watch({ workersMax: 1 });
  on.cluster.apply(heartbeat('w1', 0), T0_MS);
  on.cluster.apply({ ...heartbeat('w1', 4), clock: 2, timestampMs: T0_MS + 1 }, T0_MS + 1);
  on.cluster.apply(heartbeat('w2', 0), T0_MS + 2);
  on.cluster.collect(T0_MS + 60_000);
  assert.deepEqual(progress(on), []);
});
