/**
 * The table of standings, which are the states of a run that decide whether its end is expected, and of the facts that change
 * them. Runs change their standing by this table alone; docs/counting.md shows it. Pure: it keeps nothing.
 */

/** The standings and their meanings. An end that arrives is counted for its run, whatever the standing of the run. */
export const STANDINGS = {
  expected:
    'Its worker has it, and its end is expected. It waits for its ETA or for a free slot of the pool, or it runs.',
  redelivered:
    'Its end is expected, but another process has the task too or has ended it: if the process of the run dies, the run is not lost.',
  replaced: 'It has called `replace()`: another task runs under its id, and the end of that task ends both.',
  doubted: 'Its end may have been missed: no end is expected.',
  gone: 'It never started, or its process died while another process had the task, or its loss was refuted: no end is expected.',
  lost: 'Its process died while it ran: it was counted as lost.',
  over: 'It has ended.',
} as const;

export type Standing = keyof typeof STANDINGS;

/** A fact about a run, and the standings that it changes. */
interface Change {
  /** The fact in words, for docs/counting.md. */
  readonly fact: string;
  /** From which standing to which; all other standings stay. */
  readonly changes: Partial<Readonly<Record<Standing, Standing>>>;
}

/** All standings of a run that has not ended. */
const ALL_BUT_OVER: readonly Standing[] = ['expected', 'redelivered', 'replaced', 'doubted', 'gone', 'lost'];

/** Changes from each of several standings to the same one. */
function changesTo(from: readonly Standing[], to: Standing): Change['changes'] {
  return Object.fromEntries(from.map((standing) => [standing, to]));
}

export const STANDING_CHANGES = {
  takenElsewhere: {
    fact: 'Another process receives the task, takes over the run, or ends the task.',
    changes: { expected: 'redelivered' },
  },
  replaced: {
    fact: 'A task with another name, sent by a task, is received under its id.',
    changes: changesTo(ALL_BUT_OVER, 'replaced'),
  },
  started: {
    fact: 'It starts.',
    changes: changesTo(['doubted', 'gone', 'lost'], 'expected'),
  },
  reportedActive: {
    fact: 'Its worker reports by remote control that it has the run.',
    changes: changesTo(['doubted', 'gone'], 'expected'),
  },
  endMissed: {
    fact: 'Its worker reports fewer running tasks than have not ended, or other tasks; or the run waits for a day, or since before a gap in the connection; or its process died after a gap.',
    changes: changesTo(['expected', 'redelivered'], 'doubted'),
  },
  leftBehind: {
    fact: 'Its process died, or another process ended the task, before the run started; or its process died while another process had the task.',
    changes: changesTo(['expected', 'redelivered'], 'gone'),
  },
  diedRunning: {
    fact: 'Its process died while it ran.',
    changes: { expected: 'lost' },
  },
  lossRefuted: {
    fact: 'The task is received by another process, or ends, after it was lost.',
    changes: { lost: 'gone' },
  },
  ended: {
    fact: 'Its end arrives, or the end of the task that replaced it.',
    changes: changesTo(ALL_BUT_OVER, 'over'),
  },
} as const satisfies Readonly<Record<string, Change>>;

export type StandingFact = keyof typeof STANDING_CHANGES;

export function standingAfter(standing: Standing, fact: StandingFact): Standing {
  const { changes }: Change = STANDING_CHANGES[fact];
  return changes[standing] ?? standing;
}

/** Whether the end of a run with this standing is expected. */
export function isEndExpected(standing: Standing): boolean {
  return standing === 'expected' || standing === 'redelivered';
}
