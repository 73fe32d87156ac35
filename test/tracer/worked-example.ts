/** A chain of three tasks, as Celery told of it: the second is retried once, the last fails. */
import type { FinishedRun, SentFacts } from '../../src/tracer/ancestry/finished.ts';
import { run, sent } from './finished-facts.ts';

const BASE_MS = 1_795_311_503_000;
export const C = '90817c7f-6c28-4fe5-aa46-7adb16d15d7d';
export const S = '9ef3f114-760a-4af7-9064-83c28e3b001e';
export const I = '792678ed-6840-42b7-b65a-a08cfc471cf0';
const FIRST = { retries: 0, delivery: 0 };

/** Ms since the epoch, of a second of the example. */
export function at(seconds: number): number {
  return BASE_MS + seconds * 1000;
}

function taskSent(name: string, sentS: number, sender: string): SentFacts {
  return sent({ name, queue: 'app', routingKey: 'app', sender, sentMs: at(sentS) });
}

function identity(task: string) {
  return { task, queue: 'app', worker: 'w1@vm' };
}

const SHIP_SENT = taskSent('app.ship', 1.044705, 'gen28591@vm');

/** In the order in which they end. */
export const WORKED_EXAMPLE: readonly FinishedRun[] = [
  run({
    uuid: C,
    rootId: C,
    run: identity('app.charge'),
    sent: taskSent('app.charge', 0.950956, 'gen28696@vm'),
    receivedMs: at(0.949424),
    startedMs: at(0.974541),
    endedMs: at(1.056533),
    runtimeS: 0.089477,
    waitTimeS: 0.023585,
  }),
  run({
    uuid: S,
    rootId: C,
    parentId: C,
    run: identity('app.ship'),
    sent: SHIP_SENT,
    outcome: 'retried',
    errorType: 'ConnectionError',
    error: { path: 'ConnectionError', message: 'warehouse away', stacktrace: '' },
    receivedMs: at(1.06848),
    startedMs: at(1.198748),
    endedMs: at(1.231395),
  }),
  run({
    uuid: S,
    rootId: C,
    parentId: C,
    retries: 1,
    run: identity('app.ship'),
    sent: SHIP_SENT,
    isSentNew: false,
    previous: { ...FIRST, link: 'retry_of' },
    receivedMs: at(1.227059),
    startedMs: at(1.42322),
    endedMs: at(1.454393),
    runtimeS: 0.029251,
    waitTimeS: 0.001406,
  }),
  run({
    uuid: I,
    rootId: C,
    parentId: S,
    parentPlace: { retries: 1, delivery: 0 },
    run: identity('app.invoice'),
    sent: taskSent('app.invoice', 1.445824, 'gen28591@vm'),
    outcome: 'failed',
    errorType: 'ValueError',
    error: { path: 'ValueError', message: 'no address for order 17', stacktrace: 'Traceback' },
    receivedMs: at(1.449212),
    startedMs: at(1.454519),
    endedMs: at(1.487628),
  }),
];
