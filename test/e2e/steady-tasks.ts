/** Publishes task events at a steady rate, from one worker after the other. No task really runs. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { openBrokerChannel } from './broker-channel.ts';
import { event } from './publish.ts';

export interface SteadyTasks {
  /** Switches to this worker; the one before goes offline. */
  runOn(worker: string): void;
  stop(): Promise<void>;
}

const TICK_MS = 100;
/** A worker of Celery puts 24 events into a list at most (celery/events/dispatcher.py, `buffer_limit`). */
const LIVES_A_MESSAGE = 8;

/** @param paceHz tasks a second */
export async function steadyTasks(url: string, paceHz: number): Promise<SteadyTasks> {
  const { channel, connected, close } = await openBrokerChannel(url);
  const stopping = new AbortController();
  let worker: string | undefined;

  function send(events: readonly object[]): void {
    const body = Buffer.from(JSON.stringify(events));
    channel.publish('celeryev', 'task.multi', body, { contentType: 'application/json' });
  }

  async function run(): Promise<void> {
    const startMs = performance.now();
    for (let sent = 0; !stopping.signal.aborted && connected(); ) {
      // By the clock, so that a late tick makes up for it.
      const due = Math.floor(((performance.now() - startMs) * paceHz) / 1000);
      const hostname = worker;
      const lives = hostname === undefined ? [] : Array.from({ length: due - sent }, () => lifeOn(hostname));
      while (lives.length > 0) send(lives.splice(0, LIVES_A_MESSAGE).flat());
      sent = due;
      await delay(TICK_MS);
    }
  }

  const done = run();
  return {
    runOn(next) {
      if (worker !== undefined) send([event('worker-offline', { hostname: worker, active: 0, freq: 2 })]);
      worker = next;
      send([event('worker-online', { hostname: next, active: 0, freq: 2 })]);
    },
    async stop() {
      if (stopping.signal.aborted) return;
      stopping.abort();
      await done;
      await close();
    },
  };
}

function lifeOn(hostname: string): readonly object[] {
  const common = { hostname, uuid: randomUUID() };
  return [
    event('task-received', { ...common, name: 'shop.pay' }),
    event('task-started', common),
    event('task-succeeded', { ...common, runtime: 0.01, result: 'None' }),
  ];
}
