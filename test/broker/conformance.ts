/**
 * The test suite for every transport: deliver messages byte by byte, become ready once, stop at any time, and end with
 * a reason instead of an error.
 */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { RawMessage, SessionOptions, Transport } from '../../src/broker/broker.ts';
import type { BrokerAddress } from '../../src/broker/server/address.ts';
import { Log } from './log.ts';
import { observeSession } from './observed-session.ts';
import { startRelay } from './relay.ts';

export type SentMessage = Omit<RawMessage, 'arrivedAtMs' | 'exchange'> & {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
};

/** A source to listen to. */
export interface Source {
  readonly session: { readonly url: BrokerAddress } & Partial<SessionOptions>;
  /** Call it once a session is open; resolves when the messages have been sent. */
  send(): Promise<void>;
}

export interface TransportUnderTest {
  readonly create: () => Transport;
  /** A source of exactly these messages, on an exchange `events`, that then stays silent and open. */
  readonly open: (t: TestContext, messages: readonly SentMessage[]) => Promise<Source>;
  /** An address without a source. */
  readonly absent: () => BrokerAddress;
}

export const HEARTBEAT: SentMessage = {
  routingKey: 'worker.heartbeat',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@shop' },
  body: Buffer.from('{"type":"worker-heartbeat"}'),
};

const MESSAGES: readonly SentMessage[] = [
  {
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: { hostname: 'w1@höst' },
    body: Buffer.from('[{"type":"task-started","uuid":"ü\u2028"}]'),
  },
  {
    routingKey: 'worker.online',
    contentType: 'application/x-msgpack',
    contentEncoding: 'binary',
    headers: {
      numbers: [0, -1, 1.5, 2 ** 40, 1e300],
      table: { list: [true, null, { deep: 'x' }], empty: {} },
      timestamp: { '!': 'timestamp', value: 1_795_231_147 },
      $odd: '$',
    },
    body: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  },
  { routingKey: '', contentType: '', contentEncoding: '', headers: {}, body: Buffer.alloc(0) },
  {
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: {},
    // More than one frame, more than one read of a file.
    body: Buffer.alloc(600_000, 'line\nfeed "quoted" \\ '),
  },
];

/** A transport to a server over a network, and a server that runs. */
export interface ServerUnderTest extends TransportUnderTest {
  readonly port: () => number;
  /** The address of the server at another port. */
  readonly at: (port: number) => BrokerAddress;
  /** A transport for which a session is lost after so much silence. */
  readonly impatient: () => Transport;
  readonly patienceMs: number;
}

/** What every transport over a network must do beside {@link testConformance}. */
export function testServer(name: string, subject: ServerUnderTest): void {
  const { create, impatient, patienceMs, port, at } = subject;

  test(`${name} is lost after ${patienceMs} ms of silence, and its socket is closed`, async (t) => {
    const relay = await startRelay(t, port());
    // The time for connecting no longer applies once the session is open.
    const given = { url: at(relay.port), connectTimeoutMs: patienceMs - 1000 };
    const { ready, ended } = observeSession(t, impatient(), given);
    await ready();
    relay.silence();
    assert.deepEqual(await ended, { kind: 'lost', reason: `no reply within ${patienceMs} ms` });
    await relay.deserted();
  });

  test(`${name} stops while its server is silent`, async (t) => {
    const relay = await startRelay(t, port());
    const { ready, ended, stopping } = observeSession(t, create(), { url: at(relay.port) });
    await ready();
    relay.silence();
    stopping.abort();
    assert.deepEqual(await ended, { kind: 'stopped' });
    await relay.deserted();
  });

  test(`${name}: a missing reply ends the attempt after the connect timeout`, async (t) => {
    const relay = await startRelay(t, port());
    relay.silence();
    const { ended } = observeSession(t, create(), { url: at(relay.port), connectTimeoutMs: 300 });
    assert.deepEqual(await ended, { kind: 'unreachable', reason: 'no reply within 300 ms' });
    await relay.deserted();
  });

  test(`${name} leaves time for other work in each turn of the event loop during a flood`, async (t) => {
    const flood = Array<SentMessage>(400).fill({ ...HEARTBEAT, body: Buffer.alloc(10_000, ' ') });
    const source = await subject.open(t, flood);
    const turns = new Log<number>();
    let turn = 0;
    const counting = setInterval(() => {
      turn += 1;
    }, 0);
    t.after(() => clearInterval(counting));
    const { ready } = observeSession(t, create(), {
      ...source.session,
      deliver() {
        // What is sent while the first message is handled arrives at once.
        const busyMs = turns.items.length === 0 ? 300 : 1;
        for (const endMs = performance.now() + busyMs; performance.now() < endMs; );
        turns.add(turn);
      },
    });
    await ready();
    await source.send();
    const inOneTurn = Map.groupBy(await turns.reaches(flood.length), (each) => each);
    const most = Math.max(...Array.from(inOneTurn.values(), ({ length }) => length));
    // Ten milliseconds in the poll phase and ten after it, and each time the rest of a chunk of 64 KiB.
    assert.ok(most < 60, `${most} messages in one turn`);
  });
}

export function testConformance(name: string, subject: TransportUnderTest): void {
  test(`${name} delivers every message in order, byte by byte, with its headers`, async (t) => {
    const source = await subject.open(t, MESSAGES);
    const session = observeSession(t, subject.create(), source.session);
    await session.ready();
    await source.send();
    const messages = await session.delivered(MESSAGES.length);
    assert.deepEqual(
      messages.map(({ arrivedAtMs: _, exchange: __, ...sent }) => sent),
      MESSAGES,
    );
    assert.deepEqual(new Set(messages.map((message) => message.exchange)), new Set(['events']));
  });

  test(`${name} is ready once, before it delivers anything, and its clock goes with its messages`, async (t) => {
    const source = await subject.open(t, MESSAGES);
    const transport = subject.create();
    const happened = new Log<readonly [arrivedAtMs: number, nowMs: number] | 'ready'>();
    observeSession(t, transport, {
      ...source.session,
      ready: () => happened.add('ready'),
      deliver({ arrivedAtMs }) {
        happened.add([arrivedAtMs, transport.now()]);
      },
    });
    await happened.reaches(1);
    await source.send();
    const [first, ...clock] = await happened.reaches(1 + MESSAGES.length);
    assert.equal(first, 'ready');
    const times = clock.filter((time) => time !== 'ready');
    assert.equal(times.length, clock.length);
    for (const [index, [arrivedAtMs, nowMs]] of times.entries()) {
      const [arrivedBeforeMs, thenMs] = times[index - 1] ?? [Date.parse('2020-01-01'), 0];
      assert.ok(arrivedBeforeMs <= arrivedAtMs && thenMs <= nowMs, 'neither goes back');
      assert.ok(arrivedAtMs <= nowMs, 'no message is later than the time at its delivery');
    }
  });

  test(`${name} stops when it is asked to, before and while it connects and when it is ready`, async (t) => {
    const source = await subject.open(t, MESSAGES);
    const early = observeSession(t, subject.create(), { ...source.session, signal: AbortSignal.abort() });
    assert.deepEqual(await early.ended, { kind: 'stopped' });

    const connecting = observeSession(t, subject.create(), source.session);
    connecting.stopping.abort();
    assert.deepEqual(await connecting.ended, { kind: 'stopped' });
    assert.deepEqual([...early.log.items, ...connecting.log.items], []);

    const ready = observeSession(t, subject.create(), source.session);
    await ready.ready();
    ready.stopping.abort();
    assert.deepEqual(await ready.ended, { kind: 'stopped' });
    for (const { stopping } of [connecting, ready]) {
      assert.deepEqual(getEventListeners(stopping.signal, 'abort'), [], 'no listener is left behind');
    }
  });

  test(`${name} delivers nothing more once it has ended`, async (t) => {
    const source = await subject.open(t, MESSAGES);
    const stopping = new AbortController();
    const delivered: RawMessage[] = [];
    const session = observeSession(t, subject.create(), {
      ...source.session,
      signal: stopping.signal,
      deliver: (message) => {
        delivered.push(message);
        stopping.abort();
      },
    });
    await session.ready();
    await source.send();
    assert.deepEqual(await session.ended, { kind: 'stopped' });
    assert.equal(delivered.length, 1);
  });

  test(`${name} can be run again after it has ended`, async (t) => {
    const transport = subject.create();
    for (let run = 0; run < 2; run += 1) {
      const source = await subject.open(t, MESSAGES);
      const session = observeSession(t, transport, source.session);
      await session.ready();
      await source.send();
      assert.equal((await session.delivered(MESSAGES.length)).length, MESSAGES.length);
      session.stopping.abort();
      await session.ended;
    }
  });

  test(`${name} ends with a reason where there is nothing, and says that nothing is reachable`, async (t) => {
    const session = observeSession(t, subject.create(), { url: subject.absent() });
    const end = await session.ended;
    assert.ok(end.kind === 'unreachable' || end.kind === 'unusable');
    assert.ok(end.reason.length > 0);
    assert.deepEqual(session.log.items, []);
    // A transport that is never unreachable is never asked.
    const { reachable } = subject.create();
    if (reachable === undefined) return assert.equal(end.kind, 'unusable');
    const { signal } = new AbortController();
    assert.equal(await reachable(subject.absent(), signal), false);
    const source = await subject.open(t, MESSAGES);
    assert.equal(await reachable(source.session.url, signal), true);
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });
}
