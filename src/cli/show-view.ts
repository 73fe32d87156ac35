/**
 * Shows the status: on a terminal in place, until the user quits; elsewhere as one report after the other. `top/`
 * decides what a view contains.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Choice, firstChoice, pressed } from '../top/keys.ts';
import { colouredOf, textOf } from '../top/line.ts';
import { report, windowView } from '../top/window.ts';
import type { Snapshot } from '../view/snapshot.ts';
import type { CommandIo } from './command-io.ts';
import { print } from './print.ts';
import type { SnapshotSource } from './snapshot-source.ts';
import type { Terminal } from './terminal.ts';

const REFRESH_MS = 1000;

export interface Shown {
  /** Resolves when the user quits. */
  readonly ended: Promise<void>;
  /** Restores the terminal; may be called repeatedly. */
  close(): void;
}

/** @param isTotals whether tasks are shown with counts since the start at first */
export function showView(source: SnapshotSource, terminal: Terminal, isTotals: boolean): Shown {
  const ended = Promise.withResolvers<void>();
  let choice = firstChoice(isTotals);
  let snapshot: Snapshot = source.snapshot;
  let page = 1;
  let isClosed = false;
  const draw = (): void => {
    const { lines, page: rows, ...view } = windowView(snapshot, choice, terminal.size());
    page = rows;
    choice = { ...choice, ...view };
    terminal.draw(lines.map(terminal.isColoured ? colouredOf : textOf));
  };
  const look = async (): Promise<void> => {
    snapshot = await source.look(choice.service);
    if (!isClosed) draw();
  };
  const choose = (next: Choice | 'end'): void => {
    if (next === 'end') {
      ended.resolve();
      return;
    }
    const isOther = next.service !== choice.service;
    choice = next;
    draw();
    if (isOther) void look();
  };
  const closeTerminal = terminal.open({
    onResize: draw,
    onKey: (key) => choose(pressed(choice, key, { page, services: snapshot.status?.services.length ?? 0 })),
  });
  const timer = setInterval(() => void look(), REFRESH_MS);
  draw();
  void look();
  return {
    ended: ended.promise,
    close() {
      isClosed = true;
      clearInterval(timer);
      closeTerminal();
    },
  };
}

/** Prints one report of everything. @param width by default, nothing is cut */
export async function printReport(
  source: SnapshotSource,
  { stdout }: Pick<CommandIo, 'stdout'>,
  isTotals: boolean,
  width?: number,
): Promise<Snapshot> {
  const snapshot = await source.look('all');
  print(stdout, `${report(snapshot, isTotals, width).map(textOf).join('\n')}\n`);
  return snapshot;
}

/** Prints one report per interval, the first at once, until the signal is aborted. */
export async function printReports(
  source: SnapshotSource,
  io: CommandIo,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (let count = 0; !signal.aborted; count += 1) {
    if (count > 0) print(io.stdout, '\n');
    print(io.stdout, `${new Date().toISOString()}\n`);
    await printReport(source, io, false);
    await delay(intervalMs, undefined, { signal }).catch(() => {});
  }
}
