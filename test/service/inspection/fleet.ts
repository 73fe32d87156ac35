/** A fleet of workers that is played: what each replies to which question, who listens, and what an inspection reports of it. */
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ControlQuestion } from '../../../src/broker/control/control.ts';
import {
  type InspectionOptions,
  newMemory,
  type Refusal,
} from '../../../src/service/inspection/inspection-options.ts';
import type { AskedResult } from '../../../src/service/inspection/replies.ts';
import { message } from '../../celery/wire.ts';
import { inspecting } from './inspecting.ts';

export interface PlayedWorker {
  readonly version?: string;
  readonly contentType?: string;
  /** AskedResult one of these, it does not reply, and goes on. */
  readonly failsAt?: readonly string[];
  /** AskedResult one of these, it stops listening. */
  readonly deafenedBy?: readonly string[];
  /** It sends no heartbeats. */
  isUnknown?: boolean;
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

export function playFleet(
  t: TestContext,
  workers: Record<string, PlayedWorker>,
  {
    isOnRedis = true,
    memory = newMemory(),
    ...options
  }: Partial<Pick<InspectionOptions, 'commands' | 'enableEvents' | 'memory'>> & {
    readonly isOnRedis?: boolean;
  } = {},
) {
  const questions: string[] = [];
  const asked: AskedResult[] = [];
  const skipped: Refusal[] = [];
  const deaf: string[] = [];
  const reported: string[] = [];
  const lives: string[] = [];
  let listenedMs = 0;
  /** Replies to earlier questions that come with the next. */
  let late = 0;
  let listener: (question: string) => void = () => {};
  const present = (): [string, PlayedWorker][] => Object.entries(workers).filter(([, { isGone }]) => !isGone);
  const hears = ([, { isDeaf, isMute }]: [string, PlayedWorker]): boolean => !(isDeaf || isMute);
  const isTo = (destination: readonly string[] | undefined, nodename: string): boolean =>
    destination === undefined || destination.includes(nodename);
  /** Beats of all that are not busy. */
  const seenMs = new Map<string, number>();

  async function ask({ command, destination, take }: ControlQuestion) {
    const question = `${command} ${destination?.join(' ') ?? 'everybody'}`;
    questions.push(question);
    listener(question);
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
      if (worker.failsAt?.includes(command)) continue;
      const { contentType = 'application/json', twin } = worker;
      const text = JSON.stringify({ [nodename]: REPLIES[command] });
      take(message(text, { contentType }));
      taken += 1;
      if (twin !== undefined) take(message(text, { contentType: twin.contentType ?? contentType }));
    }
    const mailboxes = new Set(Object.keys(workers).filter((nodename) => !workers[nodename]?.isMute));
    await nextTurn();
    const untaken = { late, tooLarge: 0, unreadable: 0, beyond: 0 };
    late = 0;
    if (!isOnRedis) return { taken, untaken, receivers: undefined };
    const audience = { listening: listening.length, mailboxes };
    return { taken, untaken, receivers: mailboxes.size === 0 ? 0 : undefined, audience };
  }

  const { stop, until } = inspecting(
    t,
    ask,
    {
      ...{ commands: options.commands ?? 'auto', enableEvents: options.enableEvents ?? false, intervalMs: 5 },
      ...{ memory, redis: { owner: 'shop', separator: undefined }, now: () => ({ wallMs: 7, listenedMs }) },
      answers: {
        *workersUp() {
          return present()
            .filter(([, { isUnknown }]) => !isUnknown)
            .flatMap(([nodename, worker]) =>
              [worker, ...(worker.twin === undefined ? [] : [worker.twin])].map((each) => {
                each.process ??= {};
                const { version = '5.7.0', process: key } = each;
                return { nodename, process: key, version, seenMs: seenMs.get(nodename) ?? 0, receivedMs: -1 };
              }),
            );
        },
        workerReported: (nodename) => void reported.push(nodename),
        workerLives: (nodename) => void lives.push(nodename),
        workerDeaf: (nodename, isDeaf) => void deaf.push(`${nodename} ${isDeaf ? 'is' : 'is not'}`),
      },
      onAsked: (each) => void asked.push(each),
      onSkipped: (refusal) => void skipped.push(refusal),
    },
    isOnRedis ? async () => present().filter(hears).length : undefined,
  );
  return {
    ...{ questions, asked, skipped, deaf, reported, lives },
    /** With the next question comes a reply to an earlier one. */
    replyLate(): void {
      late += 1;
    },
    /** Called before each question is put. */
    onQuestion(listen: (question: string) => void): void {
      listener = listen;
    },
    stop,
    /** Resolves once so many more questions have ended. */
    more(count: number): Promise<void> {
      const target = asked.length + count;
      return until(() => asked.length >= target);
    },
    until,
  };
}
