/** A fleet of workers on Redis that is played: what each replies to which question, who listens, and what an inspection says of it. */
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Session } from '../../src/broker/broker.ts';
import type { ControlQuestion } from '../../src/broker/control/control.ts';
import type { Refusal } from '../../src/inspection/evidence.ts';
import { startInspecting } from '../../src/inspection/inspection.ts';
import type { Asked } from '../../src/inspection/replies.ts';
import type { InspectionMemory } from '../../src/inspection/rounds.ts';
import { message } from '../celery/wire.ts';

export interface PlayedWorker {
  readonly version?: string;
  readonly contentType?: string;
  /** What it replies to `conf`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Asked one of these, it stops listening. */
  readonly deafenedBy?: readonly string[];
  /** It sends no heartbeats. */
  readonly isUnknown?: boolean;
  /** It listens and does not reply, and sends no heartbeats. */
  isBusy?: boolean;
  isDeaf?: boolean;
  /** Another process each time it is set. */
  process?: object;
  /** Its mailbox is there, and it is not. */
  isGone?: boolean;
  /** It has no remote control. */
  readonly isMute?: boolean;
  /** Another worker with its name. */
  readonly twin?: PlayedWorker;
}

const REPLIES: Readonly<Record<string, unknown>> = {
  ping: { ok: 'pong' },
  stats: { pid: 7, pool: { 'max-concurrency': 4 } },
  active_queues: [{ name: 'orders' }],
  active: [],
  enable_events: { ok: 'task events enabled' },
};

/** Of Celery 5.3 and later. */
export const PLAIN_SETTINGS = {
  ...{ broker_channel_error_retry: false, broker_transport_options: { sep: ':' }, broker_use_ssl: false },
  ...{
    broker_failover_strategy: null,
    broker_login_method: null,
    broker_heartbeat: 120,
    broker_connection_timeout: 4,
  },
};

export function playFleet(
  t: TestContext,
  workers: Record<string, PlayedWorker>,
  options: { commands?: readonly ('stats' | 'active_queues' | 'active')[]; memory?: InspectionMemory } = {},
) {
  const questions: string[] = [];
  const asked: Asked[] = [];
  const withheld: Refusal[] = [];
  const deaf: string[] = [];
  const told: string[] = [];
  let listenedMs = 0;
  const present = (): [string, PlayedWorker][] => Object.entries(workers).filter(([, { isGone }]) => !isGone);
  const hears = ([, { isDeaf, isMute }]: [string, PlayedWorker]): boolean => !(isDeaf || isMute);
  const isTo = (destination: readonly string[] | undefined, nodename: string): boolean =>
    destination === undefined || destination.includes(nodename);
  /** Beats of all that are not busy. */
  const seenMs = new Map<string, number>();

  async function ask({ command, destination, take }: ControlQuestion) {
    questions.push(`${command} ${destination?.join(' ') ?? 'everybody'}`);
    listenedMs += 1500;
    for (const [nodename, { isBusy }] of present()) if (!isBusy) seenMs.set(nodename, listenedMs);
    const listening = present().filter(hears);
    let taken = 0;
    for (const [nodename, worker] of listening) {
      if (worker.isBusy || !isTo(destination, nodename)) continue;
      if (worker.deafenedBy?.includes(command)) {
        worker.isDeaf = true;
        continue;
      }
      const reply = command === 'conf' ? (worker.settings ?? PLAIN_SETTINGS) : REPLIES[command];
      const { contentType = 'application/json' } = worker;
      take(message(JSON.stringify({ [nodename]: reply }), { contentType }));
      taken += 1;
      const { twin } = worker;
      if (twin === undefined) continue;
      const text = JSON.stringify({ [nodename]: command === 'conf' ? twin.settings : REPLIES[command] });
      take(message(text, { contentType: twin.contentType ?? contentType }));
    }
    const mailboxes = new Set(Object.keys(workers).filter((nodename) => !workers[nodename]?.isMute));
    await nextTurn();
    return {
      ...{ taken, untaken: { late: 0, tooLarge: 0, unreadable: 0, beyond: 0 } },
      receivers: mailboxes.size === 0 ? 0 : undefined,
      audience: { listening: listening.length, mailboxes },
    };
  }

  const session: Session = {
    receive: () => new Promise(() => {}),
    ask,
    listeners: async () => present().filter(hears).length,
  };
  const waiting: (() => void)[] = [];
  const stop = startInspecting(session, {
    commands: options.commands ?? ['stats', 'active_queues', 'active'],
    ...{ enableEvents: false, timeoutMs: 500, namespace: 'celery', intervalMs: 5, initialDelayMs: 0 },
    ...{ redis: { owner: 'shop', separator: undefined }, random: () => 0, yieldToLoop: nextTurn },
    now: () => ({ wallMs: 7, listenedMs }),
    memory: options.memory ?? { riskyAskedMs: new Map(), deafenedByStats: undefined },
    answers: {
      session: 1,
      *workersUp() {
        return present()
          .filter(([, { isUnknown }]) => !isUnknown)
          .flatMap(([nodename, worker]) =>
            [worker, ...(worker.twin === undefined ? [] : [worker.twin])].map((each) => {
              each.process ??= {};
              const { version = '5.4.0', process: key } = each;
              return { nodename, process: key, version, seenMs: seenMs.get(nodename) ?? 0 };
            }),
          );
      },
      consumes: () => true,
      workerTold: (nodename) => void told.push(nodename),
      workerRuns: () => true,
      workerHas: () => true,
      workersAsked() {},
      workerDeaf: (nodename, isDeaf) => void deaf.push(`${nodename} ${isDeaf ? 'is' : 'is not'}`),
    },
    onAsked(each) {
      asked.push(each);
      for (const go of waiting.splice(0)) go();
    },
    onWithheld: (refusal) => void withheld.push(refusal),
    onDeaf() {},
    onImplausible() {},
  });
  t.after(stop);
  return {
    ...{ questions, asked, withheld, deaf, told },
    /** Resolves once so many more questions have ended. */
    async more(count: number): Promise<void> {
      const target = asked.length + count;
      while (asked.length < target) await new Promise<void>((go) => waiting.push(go));
    },
    /** Resolves once that holds. */
    async until(holds: () => boolean): Promise<void> {
      while (!holds()) await new Promise<void>((go) => waiting.push(go));
    },
  };
}
