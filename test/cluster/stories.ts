/** Scenarios of workers with times in seconds, and the observed losses and exits. */
import type { CeleryEvent, WorkerSignal } from '../../src/celery/event.ts';
import type { Observation } from '../../src/cluster/observation.ts';
import { line, received, sent, signal, started, T0_MS, type Watched } from './events.ts';

/** Events with the time in seconds at which they happen and arrive. */
export type Story = readonly (readonly [atS: number, event: CeleryEvent])[];

/** @param disconnectedS time without a connection before */
export function report(on: Watched, story: Story, disconnectedS = 0): void {
  for (const [atS, event] of story) {
    const timestampMs = T0_MS + atS * 1_000;
    on.cluster.apply({ ...event, timestampMs }, timestampMs, timestampMs - disconnectedS * 1_000);
  }
}

export function upAt(on: Watched, atS: number, disconnectedS = 0): readonly (readonly [string, boolean])[] {
  const { workers } = on.cluster.collect(T0_MS + atS * 1_000, T0_MS + (atS - disconnectedS) * 1_000);
  return workers.map(({ worker, up }) => [worker, up] as const);
}

/** Losses, refuted losses and exits since the last call. */
export function news(on: Watched): readonly string[] {
  const kinds: readonly Observation['kind'][] = ['task-lost', 'loss-refuted', 'worker-exited'];
  return on
    .news()
    .filter(({ kind }) => kinds.includes(kind))
    .map(line);
}

/** The total numbers of started tasks and of lost starts. */
export function progress(on: Watched): { readonly processed: number; readonly lost: number } {
  const all = on.observed.filter((it) => it.kind === 'worker-progressed');
  return {
    processed: all.reduce((sum, it) => sum + it.processed, 0),
    lost: all.reduce((sum, it) => sum + it.eventsLost, 0),
  };
}

export const of = (uuid: string) => ({ uuid });

export const running = (uuid: string, atS: number, over = {}): Story => [
  [atS, sent(of(uuid))],
  [atS, received({ ...of(uuid), ...over })],
  [atS, started({ ...of(uuid), ...over })],
];

export const heartbeat = (active: number, over: Partial<WorkerSignal> = {}): WorkerSignal =>
  signal('worker-heartbeat', { active, processed: 1, ...over });

/** One each two seconds. */
export function heartbeats(
  fromS: number,
  toS: number,
  active: number,
  over: Partial<WorkerSignal> = {},
): Story {
  const count = Math.floor((toS - fromS) / 2) + 1;
  return Array.from({ length: count }, (_, index) => [fromS + 2 * index, heartbeat(active, over)] as const);
}
