/**
 * Asks the workers of one Celery service for their state, regularly, for as long as a session lasts. rounds.ts decides
 * which commands harm no worker, and the transport how they are sent.
 */
import type { Session } from '../../broker/broker.ts';
import { commandsOf } from '../../broker/control/asked-commands.ts';
import { pause } from '../../timing/pause.ts';
import { repeat } from '../../timing/rhythm.ts';
import type { InspectionOptions } from './inspection-options.ts';
import { Questioner } from './questioner.ts';
import { type CountListeners, Rounds } from './rounds.ts';

/** How long after the start of a session the listeners are counted first. */
const FIRST_WATCH_MS = 1000;

/** @returns a function that stops the inspection and withdraws its results at once, even during a command */
export function startInspecting(session: Session, options: InspectionOptions): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const ask = session.ask?.bind(session);
  const listeners = session.listeners?.bind(session);
  let rounds: Rounds | undefined;
  if (ask !== undefined && commandsOf(options).length > 0) {
    rounds = new Rounds(new Questioner(ask, options, signal), options, listeners, signal);
    begin(rounds, listeners, options, signal);
  }
  return () => {
    ending.abort();
    rounds?.end();
    options.answers.workersAsked(undefined);
  };
}

function begin(
  rounds: Rounds,
  listeners: CountListeners | undefined,
  options: InspectionOptions,
  ending: AbortSignal,
): void {
  const { answers } = options;
  let turn: Promise<unknown> = Promise.resolve();
  /** Runs one command at a time. */
  const inTurn = <Result>(act: () => Promise<Result>): Promise<Result> => {
    const next = turn.then(act);
    turn = next;
    return next;
  };
  const round = async (): Promise<void> => {
    const beganUpMs = performance.now();
    const isAsked = await rounds.round();
    if (ending.aborted) return;
    answers.workersAsked(isAsked ? () => performance.now() - beganUpMs : undefined);
  };
  // The first round is early, because the end of a task that is running now has no task name otherwise.
  void repeat({ ...options, isFirstSoon: true }, () => inTurn(round), ending);
  if (listeners !== undefined) void keepWatch(() => inTurn(() => rounds.watch(listeners)), ending);
}

async function keepWatch(watch: () => Promise<number>, ending: AbortSignal): Promise<void> {
  let waitMs = FIRST_WATCH_MS;
  for (;;) {
    await pause(waitMs, ending);
    if (ending.aborted) return;
    waitMs = await watch();
  }
}
