/** Generates the serialised events of ordinary tasks in bulk, as Celery's workers and clients send them. */
import { randomUUID } from 'node:crypto';

const TASKS = 20;
const WORKERS = 4;
/** sent, received, started, succeeded. */
export const EVENTS_PER_TASK = 4;

let clock = 0;

/** A logical clock never falls while its process lives. */
function nextClock(): number {
  clock += 1;
  return clock;
}

/** The bodies of the events of `tasks` tasks, single or in lists of a given size. */
export function bodies(tasks: number, eventsPerList: number | undefined): readonly Buffer[] {
  const events = Array.from({ length: tasks }, (_, index) => lifecycle(index)).flat();
  if (eventsPerList === undefined) return events.map((event) => Buffer.from(JSON.stringify(event)));
  const lists: Buffer[] = [];
  for (let from = 0; from < events.length; from += eventsPerList) {
    lists.push(Buffer.from(JSON.stringify(events.slice(from, from + eventsPerList))));
  }
  return lists;
}

function lifecycle(index: number): readonly object[] {
  const uuid = randomUUID();
  const timestamp = Date.now() / 1000;
  const task = {
    uuid,
    name: `shop.tasks.task_${index % TASKS}`,
    args: `(${index}, 'an argument of usual length')`,
    kwargs: "{'urgent': False}",
    root_id: uuid,
    parent_id: null,
    retries: 0,
    eta: null,
    expires: null,
  };
  const client = { hostname: 'gen4711@shop', utcoffset: 0, pid: 4711 };
  const worker = { hostname: `worker-${index % WORKERS}@shop`, utcoffset: 0, pid: 17 };
  return [
    {
      ...client,
      clock: nextClock(),
      ...task,
      queue: 'orders',
      exchange: '',
      routing_key: 'orders',
      timestamp,
      type: 'task-sent',
    },
    { ...worker, clock: nextClock(), ...task, timestamp: timestamp + 0.002, type: 'task-received' },
    { ...worker, clock: nextClock(), uuid, timestamp: timestamp + 0.004, type: 'task-started' },
    {
      ...worker,
      clock: nextClock(),
      uuid,
      result: "{'ok': True}",
      runtime: 0.0213,
      timestamp: timestamp + 0.03,
      type: 'task-succeeded',
    },
  ];
}
