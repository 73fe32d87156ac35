/** Computes where the bars of a workflow begin and end, in percent of its duration. Pure: it draws nothing. */
import type { TreeRow } from '../health/details.ts';
import { axisValues, valueText } from './axis.ts';

export interface Lane {
  /** When the run waited; undefined if that is unknown. */
  readonly waited: Span | undefined;
  readonly ran: Span | undefined;
  readonly wait_s: number | null;
  readonly runtime_s: number | null;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Lanes {
  readonly lanes: readonly Lane[];
  readonly marks: readonly { readonly at: number; readonly text: string }[];
  readonly total_s: number;
}

export function lanesOf(rows: readonly TreeRow[]): Lanes {
  const times = rows.map(timesOf);
  const known = times.flatMap(({ from, started, ended }) => [from, started, ended]);
  const all = known.filter((time) => time !== null);
  const begin = all.reduce((least, time) => Math.min(least, time), all[0] ?? 0);
  const end = all.reduce((most, time) => Math.max(most, time), begin);
  const total_s = (end - begin) / 1000;
  const placeOf = (time: number): number => (end === begin ? 0 : (100 * (time - begin)) / (end - begin));
  return {
    lanes: times.map((each) => laneOf(each, placeOf)),
    marks:
      total_s === 0
        ? []
        : axisValues(total_s, 'seconds')
            .filter((value) => value <= total_s)
            .map((value) => ({ at: (100 * value) / total_s, text: valueText(value, 'seconds') })),
    total_s,
  };
}

type Times = Readonly<Record<'from' | 'started' | 'ended', number | null>>;

function timesOf({ from, started, ended }: TreeRow): Times {
  return { from: parsed(from), started: parsed(started), ended: parsed(ended) };
}

function parsed(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}

function laneOf({ from, started, ended }: Times, placeOf: (time: number) => number): Lane {
  const waitedTo = started ?? ended;
  return {
    waited: from === null || waitedTo === null ? undefined : { from: placeOf(from), to: placeOf(waitedTo) },
    ran: started === null || ended === null ? undefined : { from: placeOf(started), to: placeOf(ended) },
    wait_s: from === null || waitedTo === null ? null : Math.max(0, waitedTo - from) / 1000,
    runtime_s: started === null || ended === null ? null : Math.max(0, ended - started) / 1000,
  };
}
