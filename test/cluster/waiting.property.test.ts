/**
 * Compares how long tasks wait with models of what holds them: a queue of a broker with messages that are taken, expire, are purged and
 * are polled, and a worker that goes on with or without events.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../seed.ts';
import { received, sent, signal, started, succeeded, T0_MS, watch } from './events.ts';

/** An event of a worker arrives at most so much later than its message was taken. */
const LATENESS_S = 4;
const GIVEN_UP_S = 10;

type Step =
  | { readonly do: 'send'; readonly silent: boolean }
  | { readonly do: 'take'; readonly count: number; readonly latenessS: number }
  | { readonly do: 'purge' }
  | { readonly do: 'drop'; readonly limit: number }
  | { readonly do: 'poll'; readonly tookS: number }
  | { readonly do: 'return' }
  | { readonly do: 'wait'; readonly forS: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('send'), silent: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('take'), count: fc.nat(6), latenessS: fc.nat(LATENESS_S) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop'), limit: fc.nat(5) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('poll'), tookS: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('return') }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('wait'), forS: fc.integer({ min: 1, max: 20 }) }) },
);

interface Message {
  /** '' if it was delivered before, and came back. */
  readonly uuid: string;
  readonly sentS: number;
  readonly silent: boolean;
}

/** What is to arrive, and when. */
interface Due {
  readonly atS: number;
  readonly act: () => void;
}

/** A queue, of which the oldest message is taken first. */
class Model {
  readonly on = watch();
  nowS = 0;
  queue: Message[] = [];
  /** Sendings of which no receipt has arrived, with the time at which each was sent. */
  readonly unreceived = new Map<string, number>();
  /** The last poll that is old enough, by what was known then: the time of the oldest sending that may be there. */
  judged: { readonly atS: number; readonly unreceived: readonly number[]; readonly length: number }[] = [];
  pollsS: number[] = [];
  #answeredS = 0;
  #due: Due[] = [];
  #sent = 0;

  /** Each takes a second, so that no two happen at once. */
  step(step: Step): void {
    this.#second();
    if (step.do === 'send') this.#send(step.silent);
    else if (step.do === 'take') this.#take(step.count, step.latenessS);
    else if (step.do === 'purge') this.queue = [];
    else if (step.do === 'drop') this.queue = step.limit === 0 ? [] : this.queue.slice(-step.limit);
    else if (step.do === 'poll') this.#poll(step.tookS);
    // To the head, as a message that was not acknowledged.
    else if (step.do === 'return') this.queue.unshift({ uuid: '', sentS: this.nowS, silent: true });
    else for (let left = step.forS; left > 0; left -= 1) this.#second();
    this.#arrive();
  }

  #second(): void {
    this.nowS += 1;
    this.#arrive();
  }

  #arrive(): void {
    const due = this.#due.filter(({ atS }) => atS <= this.nowS);
    this.#due = this.#due.filter(({ atS }) => atS > this.nowS);
    for (const { act } of due) act();
  }

  /** The age of the oldest task that waits, as it is reported. */
  reportedS(): number {
    const { queues } = this.on.cluster.collect(this.#nowMs);
    return queues.find(({ queue }) => queue === 'orders')?.waitingAgeS ?? 0;
  }

  get #nowMs(): number {
    return T0_MS + 1000 * this.nowS;
  }

  #send(silent: boolean): void {
    this.#sent += 1;
    const message = { uuid: `u${this.#sent}`, sentS: this.nowS, silent };
    this.queue.push(message);
    this.unreceived.set(message.uuid, this.nowS);
    this.on.cluster.apply(sent({ uuid: message.uuid, timestampMs: this.#nowMs }), this.#nowMs);
  }

  #take(count: number, latenessS: number): void {
    for (const { uuid, silent } of this.queue.splice(0, count)) {
      if (silent) continue;
      const timestampMs = this.#nowMs;
      this.#due.push({
        atS: this.nowS + latenessS,
        act: () => {
          this.unreceived.delete(uuid);
          for (const event of [received, started, succeeded])
            this.on.cluster.apply(event({ uuid, timestampMs }), this.#nowMs);
        },
      });
    }
  }

  #poll(tookS: number): void {
    // One at a time.
    if (this.nowS < this.#answeredS) return;
    const { nowS: atS } = this;
    this.#answeredS = atS + tookS;
    const { length } = this.queue;
    this.on.cluster.answers.brokerAsked();
    this.pollsS.push(atS);
    const unreceived = [...this.unreceived.values()].filter((sentS) => sentS < atS);
    this.#due.push({
      atS: atS + tookS,
      act: () => {
        this.judged.push({ atS, unreceived, length });
        const reading = { queues: [{ queue: 'orders', length }], incomplete: [] };
        this.on.cluster.answers.brokerKnows(reading, () => 1000 * (this.nowS - atS), this.#nowMs);
      },
    });
  }
}

test('no task that waits in a queue is given up, whatever leaves it without a word', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 120, size: 'max' }), (steps) => {
      const model = new Model();
      for (const step of steps) {
        model.step(step);
        const oldest = model.queue.find(({ uuid }) => uuid !== '');
        if (oldest !== undefined) assert.ok(model.reportedS() >= model.nowS - oldest.sentS);
      }
    }),
  );
});

test('what is beyond the messages that a poll found is given up, up to the sendings between two polls', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 120, size: 'max' }), (steps) => {
      const model = new Model();
      for (const step of steps) {
        model.step(step);
        const reportedS = model.reportedS();
        const sinceS = model.nowS - reportedS;
        // Those sent between the same two polls are given up together.
        const nextPollS = Math.min(...model.pollsS.filter((pollS) => pollS > sinceS));
        const leaveNoRoom = model.judged
          .filter(({ atS }) => reportedS > 0 && sinceS < atS)
          .map(({ atS, unreceived, length }) => {
            const newer = unreceived.filter((sentS) => sentS >= nextPollS).length;
            return { atS, isFull: newer >= length };
          });
        let firstS = Number.POSITIVE_INFINITY;
        for (const { atS, isFull } of leaveNoRoom) {
          firstS = isFull ? Math.min(firstS, atS) : Number.POSITIVE_INFINITY;
          assert.ok(atS - firstS < GIVEN_UP_S, `from ${firstS} s to ${atS} s there was no room`);
        }
      }
    }),
  );
});

type WorkerStep =
  | { readonly do: 'receive'; readonly etaS: number; readonly silent: boolean }
  | { readonly do: 'events'; readonly on: boolean }
  | { readonly do: 'wait'; readonly forS: number };

const WORKER_STEP: fc.Arbitrary<WorkerStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('receive'),
      etaS: fc.constantFrom(0, 0, 0, 15),
      silent: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('events'), on: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait'), forS: fc.integer({ min: 1, max: 10 }) }) },
);

/** A worker that runs tasks in the order in which they are due, some at once, for some seconds each. */
class WorkerModel {
  readonly on = watch();
  nowS = 0;
  /** It has received these, and an event said so or not. */
  waiting: {
    readonly uuid: string;
    readonly dueS: number;
    readonly silent: boolean;
    readonly isKnown: boolean;
  }[] = [];
  #running: { readonly uuid: string; readonly silent: boolean; readonly untilS: number }[] = [];
  #sendsEvents = true;
  #processed = 0;
  #clock = 0;
  #received = 0;
  readonly #slots: number;
  readonly #taskS: number;

  constructor(slots: number, taskS: number) {
    this.#slots = slots;
    this.#taskS = taskS;
    this.#beat();
  }

  step(step: WorkerStep): void {
    if (step.do === 'events') this.#sendsEvents = step.on;
    else if (step.do === 'receive') this.#receive(step.etaS, step.silent);
    else for (let left = step.forS; left > 0; left -= 1) this.second();
  }

  second(): void {
    this.nowS += 1;
    const over = this.#running.filter(({ untilS }) => untilS <= this.nowS);
    this.#running = this.#running.filter(({ untilS }) => untilS > this.nowS);
    for (const { uuid, silent } of over) this.#send(succeeded({ uuid }), silent);
    this.#begin();
    if (this.nowS % 2 === 0) this.#beat();
  }

  get isIdle(): boolean {
    return this.#running.length === 0;
  }

  get #timestampMs(): number {
    return T0_MS + 1000 * this.nowS;
  }

  #receive(etaS: number, silent: boolean): void {
    this.#received += 1;
    const uuid = `u${this.#received}`;
    const dueS = this.nowS + etaS;
    this.#send(received({ uuid, etaMs: etaS === 0 ? undefined : T0_MS + 1000 * dueS }), silent);
    this.waiting.push({ uuid, dueS, silent, isKnown: this.#sendsEvents && !silent });
    this.#begin();
  }

  #begin(): void {
    const due = this.waiting.filter(({ dueS }) => dueS <= this.nowS).toSorted((a, b) => a.dueS - b.dueS);
    for (const each of due.slice(0, Math.max(0, this.#slots - this.#running.length))) {
      this.waiting.splice(this.waiting.indexOf(each), 1);
      this.#processed += 1;
      this.#send(started({ uuid: each.uuid }), each.silent);
      this.#running.push({ uuid: each.uuid, silent: each.silent, untilS: this.nowS + this.#taskS });
    }
  }

  #beat(): void {
    this.#clock += 1;
    const numbers = { active: this.#running.length, processed: this.#processed };
    const beat = signal('worker-heartbeat', {
      ...numbers,
      clock: this.#clock,
      timestampMs: this.#timestampMs,
    });
    this.on.cluster.apply(beat, this.#timestampMs);
  }

  #send(event: ReturnType<typeof received | typeof started | typeof succeeded>, silent: boolean): void {
    this.#clock += 1;
    if (silent || !this.#sendsEvents) return;
    this.on.cluster.apply(
      { ...event, clock: this.#clock, timestampMs: this.#timestampMs },
      this.#timestampMs,
    );
  }
}

test('tasks wait in a worker until it begins them, with events or without', () => {
  fc.assert(
    fc.property(
      fc.array(WORKER_STEP, { maxLength: 80, size: 'max' }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 6 }),
      (steps, slots, taskS) => {
        const model = new WorkerModel(slots, taskS);
        const prefetched = () => {
          const [worker] = model.on.cluster.collect(T0_MS + 1000 * model.nowS).workers;
          return (worker?.prefetched ?? 0) + (worker?.scheduled ?? 0);
        };
        for (const step of steps) {
          model.step(step);
          // Events of this second may be in the window.
          const truly = model.waiting.filter(({ isKnown, dueS }) => isKnown && dueS < model.nowS).length;
          assert.ok(prefetched() >= truly, `at ${model.nowS} s`);
        }
        while (!model.isIdle || model.waiting.length > 0) model.second();
        for (let left = 8; left > 0; left -= 1) model.second();
        assert.equal(prefetched(), 0, 'in the end');
      },
    ),
  );
});
