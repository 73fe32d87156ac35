/**
 * Random stories of the processes of one worker, as a real one would live them, and the truth about them: who left and how,
 * which tasks were lost, how many were begun. Clocks are set at any moment; events are held up, missed, or overtake one
 * another.
 */

import type { CeleryEvent, EventBase } from '../../src/celery/event.ts';
import { CLOCK_OFF_MS_MAX } from '../../src/celery/numeric-fields.ts';
import { fc } from '../seed.ts';
import { received, SETTINGS, signal, started, succeeded, T0_MS, watch } from './events.ts';
import { progress } from './stories.ts';

/** Multiples of it are spread evenly. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
const BEAT_MS = 2_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface Life {
  readonly pauseMs: number;
  readonly beats: number;
  readonly hasSamePid: boolean;
  readonly saysGoodbye: boolean;
  readonly greetingMissed: boolean;
  /** What the process before it ran when it was killed is delivered to it. */
  readonly takesOver: boolean;
  /** Its logical clock goes on where the cluster's is. */
  readonly mingles: boolean;
  readonly tasks: readonly { readonly atMs: number; readonly lengthMs: number }[];
}

/** Something that happens at a moment of the whole story, from 0 to 1. */
interface At {
  readonly at: number;
}
export interface RandomStory {
  readonly lives: readonly Life[];
  readonly clockSets: readonly (At & { readonly byMs: number })[];
  /** No event reaches us for so long, but then all do. */
  readonly holdUp: (At & { readonly ms: number; readonly stopsUs: boolean }) | undefined;
  readonly gap: (At & { readonly ms: number }) | undefined;
  /** So many of the events, from 0 to 1, are dropped by the broker, and the connection goes on. */
  readonly drop: (At & { readonly ms: number; readonly share: number }) | undefined;
  readonly delaysMs: readonly number[];
  readonly collectEveryMs: number;
}

const life = fc.record({
  pauseMs: fc.constantFrom(1_100, 1_500, 3_000, 9_000, 15_000, 60_000),
  beats: fc.oneof(fc.integer({ min: 1, max: 11 }), fc.integer({ min: 10, max: 40 })),
  hasSamePid: fc.oneof(fc.constant(true), fc.boolean()),
  saysGoodbye: fc.boolean(),
  greetingMissed: fc.oneof(fc.constant(false), fc.boolean()),
  takesOver: fc.boolean(),
  mingles: fc.oneof(fc.constant(false), fc.boolean()),
  tasks: fc.array(
    fc.record({ atMs: fc.integer({ min: 400, max: 60_000 }), lengthMs: fc.integer({ min: 1, max: 40_000 }) }),
    { maxLength: 12, size: 'max' },
  ),
});
const at = fc.integer({ min: 0, max: 10_000 }).map((share) => share / 10_000);
const setMs = fc.oneof(
  fc.constantFrom(-1_000, -5_000, -10_000, -20_000, -40_000, -MINUTE_MS, -HOUR_MS, -2 * HOUR_MS, HOUR_MS),
  fc.integer({ min: -2 * HOUR_MS, max: -1_000 }),
  fc.integer({ min: -2 * MINUTE_MS, max: -1_000 }),
);

/** @param misses how events may be missed */
export function randomStory(misses: 'none' | 'gap' | 'drop'): fc.Arbitrary<RandomStory> {
  const holdUp = fc.record({ at, ms: fc.integer({ min: 1_000, max: 90_000 }), stopsUs: fc.boolean() });
  const gap = fc.record({ at, ms: fc.integer({ min: 1_000, max: 90_000 }) });
  const drop = fc.record({
    at,
    ms: fc.integer({ min: 5_000, max: 200_000 }),
    share: fc.integer({ min: 0, max: 60 }).map((percent) => percent / 100),
  });
  return fc.record({
    lives: fc.array(life, { minLength: 1, maxLength: 4, size: 'max' }),
    clockSets: fc.array(fc.record({ at, byMs: setMs }), { maxLength: 2, size: 'max' }),
    holdUp: fc.option(holdUp, { nil: undefined }),
    gap: misses === 'gap' ? gap : fc.constant(undefined),
    drop: misses === 'drop' ? drop : fc.constant(undefined),
    delaysMs: fc.oneof(
      fc.constant([0]),
      fc.array(fc.integer({ min: 0, max: SETTINGS.windowMs }), { minLength: 40, maxLength: 40, size: 'max' }),
    ),
    collectEveryMs: fc.constantFrom(1_000, 5_000, 10_000, 60_000),
  });
}

/** What is otherwise in a story. */
export interface Variation {
  /** Each process has a pid of its own, and is silent while it runs a task, like the pool solo. */
  readonly isSolo?: boolean;
  /** The clock is set while a process restarts, not at any moment. */
  readonly setsAtRestarts?: boolean;
  /** It is our clock that is set, and so far that times become implausible. */
  readonly setsOurs?: boolean;
}

type Make = (by: Pick<EventBase, 'pid' | 'clock' | 'timestampMs' | 'implausibleMs'>) => CeleryEvent;
interface WorkerReport {
  readonly atMs: number;
  readonly pid: number;
  readonly clock: number;
  readonly process: number;
  readonly make: Make;
}

/** The truth. */
export interface Truth {
  readonly exits: number;
  readonly goodbyes: number;
  /** Exits of processes that have no successor. */
  readonly silent: number;
  /** Names of tasks, sorted. */
  readonly lost: readonly string[];
  readonly succeeded: number;
}

interface Lived {
  readonly reported: readonly WorkerReport[];
  /** When each process starts. */
  readonly startsMs: readonly number[];
  readonly truth: Truth;
}

interface Running {
  readonly uuid: string;
  readonly startMs: number;
  readonly stopMs: number;
}

/** What they tell, in the order in which they do. */
function live(lives: readonly Life[], isSolo: boolean): Lived {
  const reported: WorkerReport[] = [];
  const startsMs: number[] = [];
  const lost: string[] = [];
  let [nowMs, pid, clusterClock, ended, lastClock, lastProcessed] = [T0_MS, 17, 1, 0, 0, 0];
  let killed: readonly Running[] = [];
  for (const [index, each] of lives.entries()) {
    if (index > 0) {
      nowMs += each.pauseMs;
      if (isSolo || !each.hasSamePid) pid += 1;
    }
    const beginMs = nowMs;
    startsMs.push(beginMs);
    const endMs = beginMs + each.beats * BEAT_MS + 900;
    // It waits a second for the answers of the others.
    const readyMs = beginMs + (each.mingles ? 1_000 : 0);
    const isTakenOver = ({ stopMs, startMs }: Running): Running => ({
      uuid: '',
      startMs: readyMs + 150,
      stopMs: readyMs + 150 + (stopMs - startMs),
    });
    const takenOver = each.takesOver ? killed.map((run) => ({ ...isTakenOver(run), uuid: run.uuid })) : [];
    if (!each.takesOver) lost.push(...killed.map(({ uuid }) => uuid));
    const begun = [{ atMs: 300, lengthMs: 20 }, ...each.tasks].map(({ atMs, lengthMs }, task) => ({
      uuid: `p${index}t${task}`,
      startMs: readyMs + atMs,
      stopMs: readyMs + atMs + lengthMs,
    }));
    const runs = [...takenOver, ...begun].filter(({ startMs }) => startMs < endMs);
    const figures = (atMs: number) => ({
      processed: runs.filter(({ startMs }) => startMs < atMs).length,
      active: runs.filter(({ startMs, stopMs }) => startMs < atMs && stopMs >= atMs).length,
    });
    const says: { readonly atMs: number; readonly rank: number; readonly make: Make }[] = [];
    const word = (
      type: 'worker-online' | 'worker-heartbeat' | 'worker-offline',
      atMs: number,
      rank: number,
    ) => says.push({ atMs, rank, make: (by) => signal(type, { ...by, ...figures(atMs) }) });
    word('worker-online', beginMs, 0);
    for (let atMs = beginMs + BEAT_MS; atMs < endMs; atMs += BEAT_MS)
      if (!isSolo || figures(atMs).active === 0) word('worker-heartbeat', atMs, 1);
    for (const { uuid, startMs, stopMs } of runs) {
      says.push({ atMs: startMs - 10, rank: 0, make: (by) => received({ ...by, uuid, name: uuid }) });
      says.push({ atMs: startMs, rank: 1, make: (by) => started({ ...by, uuid }) });
      if (stopMs < endMs) says.push({ atMs: stopMs, rank: 2, make: (by) => succeeded({ ...by, uuid }) });
    }
    if (each.saysGoodbye) word('worker-offline', endMs, 4);
    let clock = 1;
    says.sort((one, other) => one.atMs - other.atMs || one.rank - other.rank);
    const seemsToGoOn =
      says.findLastIndex(({ atMs }) => atMs <= beginMs + 12_000) + 2 >= lastClock &&
      figures(beginMs + 12_000).processed >= lastProcessed;
    const isGreetingMissed = each.greetingMissed && each.beats >= 8 && !each.mingles && !seemsToGoOn;
    for (const [at, { atMs, make }] of says.entries()) {
      clock += 1;
      if (at > 0 || !isGreetingMissed) reported.push({ atMs, pid, clock, process: index, make });
      if (each.mingles) clock = Math.max(clock, clusterClock);
    }
    lastClock = clock;
    lastProcessed = figures(beginMs + each.beats * BEAT_MS).processed;
    clusterClock = Math.max(clusterClock, clock);
    ended += runs.filter(({ stopMs }) => stopMs < endMs).length;
    killed = runs.filter(({ stopMs }) => stopMs >= endMs);
    // Where it said goodbye, it is not known to be dead when they are delivered again.
    nowMs = endMs;
  }
  lost.push(...killed.map(({ uuid }) => uuid));
  const goodbyes = lives.filter(({ saysGoodbye }) => saysGoodbye).length;
  const silent = lives.at(-1)?.saysGoodbye === true ? 0 : 1;
  const truth = { exits: lives.length, goodbyes, silent, lost: lost.sort(), succeeded: ended };
  return { reported, startsMs, truth };
}

export interface Found extends Truth {
  readonly refuted: number;
  readonly processed: number;
  readonly missed: number;
}

/** What is found, and what is true; with a gap, what may be found at most. */
export function findOut(
  story: RandomStory,
  { isSolo = false, setsAtRestarts = false, setsOurs = false }: Variation = {},
  on = watch(),
): {
  readonly found: Found;
  readonly truth: Found;
  /** Tasks whose success arrived, and those of them that stay counted as lost. */
  readonly ended: readonly string[];
  readonly unrefuted: readonly string[];
} {
  const { reported, startsMs, truth } = live(story.lives, isSolo);
  const firstMs = T0_MS;
  const lastMs = reported.at(-1)?.atMs ?? T0_MS;
  const momentOf = (share: number): number => firstMs + share * (lastMs - firstMs);
  const sets = story.clockSets.map(({ at, byMs }, index) => ({
    fromMs: setsAtRestarts ? (startsMs[index + 1] ?? Number.POSITIVE_INFINITY) : momentOf(at),
    byMs,
  }));
  const offMs = (atMs: number): number =>
    sets.reduce((sum, { fromMs, byMs }) => sum + (atMs >= fromMs ? byMs : 0), 0);
  const holdFromMs = story.holdUp && momentOf(story.holdUp.at);
  const arrives = (atMs: number, delayMs: number): number => {
    if (story.holdUp === undefined || holdFromMs === undefined) return atMs + delayMs;
    const comesMs = atMs + delayMs;
    return atMs >= holdFromMs ? Math.max(comesMs, holdFromMs + story.holdUp.ms) : comesMs;
  };
  const gapFromMs = story.gap && momentOf(story.gap.at);
  const gapToMs = story.gap && gapFromMs && gapFromMs + story.gap.ms;
  const isMissed = (atMs: number): boolean =>
    gapFromMs !== undefined && gapToMs !== undefined && atMs >= gapFromMs && atMs < gapToMs;
  const dropFromMs = story.drop && momentOf(story.drop.at);
  const isDropped = (atMs: number, index: number): boolean =>
    story.drop !== undefined &&
    dropFromMs !== undefined &&
    atMs >= dropFromMs &&
    atMs < dropFromMs + story.drop.ms &&
    (index * GOLDEN) % 1 < story.drop.share;
  const listenedAt = (wallMs: number): number => {
    let listened = wallMs;
    if (story.holdUp?.stopsUs === true && holdFromMs !== undefined)
      listened -= Math.min(story.holdUp.ms, Math.max(0, wallMs - holdFromMs));
    if (story.gap && gapFromMs !== undefined)
      listened -= Math.min(story.gap.ms, Math.max(0, wallMs - gapFromMs));
    return listened;
  };
  const delays = story.delaysMs;
  const arriving = reported
    .map((it, index) => ({ it, comesMs: arrives(it.atMs, delays[index % delays.length] ?? 0) }))
    .filter(({ comesMs }, index) => !isMissed(comesMs) && !isDropped(comesMs, index))
    .sort((one, other) => one.comesMs - other.comesMs);
  const counts = new Map<number, { first: number; last: number }>();
  let hasGapped = story.gap === undefined;
  let nextMs = T0_MS + story.collectEveryMs;
  const gapIfDue = (nowMs: number): void => {
    if (hasGapped || gapToMs === undefined || nowMs < gapToMs) return;
    hasGapped = true;
    on.cluster.gap();
  };
  const collectUntil = (untilMs: number): void => {
    for (; nextMs <= untilMs; nextMs += story.collectEveryMs) {
      gapIfDue(nextMs);
      on.cluster.collect(nextMs, listenedAt(nextMs));
    }
  };
  for (const { it, comesMs } of arriving) {
    collectUntil(comesMs - 1);
    gapIfDue(comesMs);
    const reportedMs = it.atMs + (setsOurs ? 0 : offMs(it.atMs));
    const wallMs = comesMs + (setsOurs ? 25 * offMs(comesMs) : 0);
    const isPlausible = Math.abs(reportedMs - wallMs) <= CLOCK_OFF_MS_MAX;
    const times = isPlausible
      ? { timestampMs: reportedMs, implausibleMs: undefined }
      : { timestampMs: wallMs, implausibleMs: reportedMs };
    const event = it.make({ pid: it.pid, clock: it.clock, ...times });
    on.cluster.apply(event, comesMs, listenedAt(comesMs));
    if ('processed' in event && event.processed !== undefined) {
      const known = counts.get(it.process) ?? { first: event.processed, last: event.processed };
      counts.set(it.process, {
        first: Math.min(known.first, event.processed),
        last: Math.max(known.last, event.processed),
      });
    }
  }
  const overMs = Math.max(lastMs, arriving.at(-1)?.comesMs ?? 0, gapToMs ?? 0);
  collectUntil(overMs + 40_000);
  gapIfDue(overMs + 40_000);
  for (const laterMs of [60_000, 200_000, 2_000_000])
    on.cluster.collect(overMs + laterMs, listenedAt(overMs + laterMs));
  const exits = on.observed.filter((it) => it.kind === 'worker-exited');
  const { processed, lost: missed } = progress(on);
  const found: Found = {
    exits: exits.length,
    goodbyes: exits.filter(({ reason }) => reason === 'goodbye').length,
    silent: exits.filter(({ reason }) => reason === 'silence').length,
    lost: on.observed.flatMap((it) => (it.kind === 'task-lost' ? [it.run.task] : [])).sort(),
    succeeded: on.observed.filter(({ kind }) => kind === 'task-succeeded').length,
    refuted: on.observed.filter(({ kind }) => kind === 'loss-refuted').length,
    processed,
    missed,
  };
  let sum = 0;
  for (const { first, last } of counts.values()) sum += last - first;
  const ended = arriving.flatMap(({ it }) => {
    const event = it.make({ pid: it.pid, clock: it.clock, timestampMs: it.atMs, implausibleMs: undefined });
    return event.type === 'task-succeeded' ? [event.uuid] : [];
  });
  const timesOf = (kind: 'task-lost' | 'loss-refuted', task: string): number =>
    on.observed.filter((it) => it.kind === kind && it.run.task === task).length;
  const unrefuted = ended.filter((task) => timesOf('task-lost', task) > timesOf('loss-refuted', task));
  return { found, truth: { ...truth, refuted: 0, processed: sum, missed: 0 }, ended, unrefuted };
}
