/** Listens to finished runs, tells stories to a cluster, and formats what was told as lines. */
import type { CeleryEvent } from '../../src/celery/event.ts';
import type { ClusterSettings } from '../../src/cluster/cluster.ts';
import type {
  Finished,
  FinishedListener,
  FinishedRun,
  LoneSending,
  NewTask,
  RunPlace,
} from '../../src/tracer/ancestry/finished.ts';
import { T0_MS, type Watched, watch } from './events.ts';

export interface Listening extends Watched {
  readonly reported: Finished[];
  /** What it was asked. */
  readonly asked: NewTask[];
}

export function listening(
  over: Partial<ClusterSettings> = {},
  { beginsTrace = () => false, delayMaxMs = 600_000, ...others }: Partial<FinishedListener> = {},
): Listening {
  const reported: Finished[] = [];
  const asked: NewTask[] = [];
  const listener: FinishedListener = {
    service: 'shop',
    onFinished: (finished) => reported.push(finished),
    beginsTrace(task) {
      asked.push(task);
      return beginsTrace(task);
    },
    delayMaxMs,
    ...others,
  };
  return { ...watch(over, listener), reported, asked };
}

/** Events with the time in ms after the first one at which they happen and arrive. */
export type Story = readonly (readonly [atMs: number, event: CeleryEvent])[];

let clock = 0;

export function report(on: Watched, story: Story): void {
  for (const [atMs, event] of story) {
    const timestampMs = T0_MS + atMs;
    clock += 1;
    on.cluster.apply({ ...event, timestampMs, clock }, timestampMs);
  }
}

/** All runs that a story tells of. */
export function runsOf(story: Story, over: Partial<FinishedListener> = {}): readonly FinishedRun[] {
  const on = listening({}, over);
  report(on, story);
  on.cluster.flush();
  return runs(on);
}

export function runs({ reported }: Pick<Listening, 'reported'>): readonly FinishedRun[] {
  return reported.filter((each) => each.kind === 'run');
}

export function sendings({ reported }: Pick<Listening, 'reported'>): readonly LoneSending[] {
  return reported.filter((each) => each.kind === 'sending');
}

export const at = ({ retries, delivery }: RunPlace): string => `${retries}.${delivery}`;

/** `succeeded shop.pay 1.0 retry_of 0.0`: outcome, name, place and the run before. */
export function briefly({ outcome, run, previous, ...place }: FinishedRun): string {
  const before = previous === undefined ? [] : [previous.link, at(previous)];
  return [outcome, run.task, at(place), ...before].join(' ');
}
