/**
 * The table of standings: what a run can be, and which fact takes it from one standing to another. Runs change their standing by
 * this table alone; docs/counting.md shows it. Pure: it keeps nothing.
 */

/** Each with its meaning. An end that arrives belongs to its run, whatever the standing of that is. */
export const STANDINGS = {
  expected:
    'Its worker has it, and its end is expected. It waits for its ETA or for a free slot, or it runs.',
  redelivered:
    'Its end is expected, but another process has the task too or has ended it: if its own process dies, the run is not lost.',
  replaced: 'It has called `replace()`: another task runs under its id, and the end of that one ends both.',
  doubted: 'Its end may have been missed, so that no end is expected.',
  gone: 'It never started, or its process died while another one had the task, or its loss was not one: no end is expected.',
  lost: 'Its process died while it ran: it was counted as lost.',
  over: 'It has ended.',
} as const;

export type Standing = keyof typeof STANDINGS;

interface Change {
  /** What has become known; shown in the document. */
  readonly fact: string;
  /** The standings that it changes; all others stay. */
  readonly changes: Partial<Readonly<Record<Standing, Standing>>>;
}

const ANY: readonly Standing[] = ['expected', 'redelivered', 'replaced', 'doubted', 'gone', 'lost'];

function all(from: readonly Standing[], to: Standing): Change['changes'] {
  return Object.fromEntries(from.map((standing) => [standing, to]));
}

export const STANDING_CHANGES = {
  takenElsewhere: {
    fact: 'Another process receives the task, takes over the run, or ends the task.',
    changes: { expected: 'redelivered' },
  },
  replaced: {
    fact: 'A task with another name is received under its id, which a task has sent.',
    changes: all(ANY, 'replaced'),
  },
  started: {
    fact: 'It starts.',
    changes: all(['doubted', 'gone', 'lost'], 'expected'),
  },
  reportedActive: {
    fact: 'Its worker replies that it has it.',
    changes: all(['doubted', 'gone'], 'expected'),
  },
  endMissed: {
    fact: 'Its worker runs fewer tasks than have not ended, or other ones; or it waits for a day, or since before a gap; or its process died after a gap.',
    changes: all(['expected', 'redelivered'], 'doubted'),
  },
  leftBehind: {
    fact: 'Its process died, or another one has ended the task, before it started; or its process died while another one had the task.',
    changes: all(['expected', 'redelivered'], 'gone'),
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
    fact: 'An end of it arrives, or of the task that replaced it.',
    changes: all(ANY, 'over'),
  },
} as const satisfies Readonly<Record<string, Change>>;

export type StandingFact = keyof typeof STANDING_CHANGES;

export function standingAfter(standing: Standing, fact: StandingFact): Standing {
  const { changes }: Change = STANDING_CHANGES[fact];
  return changes[standing] ?? standing;
}

/** Whether the end of a run is expected. */
export function isEndExpected(standing: Standing): boolean {
  return standing === 'expected' || standing === 'redelivered';
}
