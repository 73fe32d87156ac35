/** The session loop over a scripted transport, in mocked time. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import type { SessionEnd } from '../../../src/broker/broker.ts';
import { gapsOf } from '../../../src/broker/session/gaps.ts';
import {
  listenScripted,
  MESSAGE,
  opened,
  openThen,
  type Step,
  staying,
  untilStopped,
} from '../scripted-transport.ts';

const UNREACHABLE: Step = () => ({ kind: 'unreachable', reason: 'nobody there' });
const REFUSED: Step = () => ({ kind: 'refused', reason: 'no' });
const LOST: SessionEnd = { kind: 'lost', reason: 'gone' };
const A = 'amqp://guest:***@a:5672//';
const B = 'amqp://guest:***@b:5672//';

const LAST_ENDS: readonly (readonly [SessionEnd, string])[] = [
  [{ kind: 'finished' }, 'no more messages'],
  [{ kind: 'unusable', reason: 'line 3: is not JSON' }, 'line 3: is not JSON'],
  [{ kind: 'stopped' }, 'stopped'],
];

for (const [end, reason] of LAST_ENDS) {
  test(`a session that ends as ${end.kind} ends the loop`, async (t) => {
    const { listener, reported, attempts } = listenScripted(t, [openThen(end)]);
    assert.equal(await listener.done, end.kind);
    assert.equal(attempts.items.length, 1);
    const common = { kind: 'broker-session-ended', service: 'shop', broker: A } as const;
    assert.deepEqual(reported.items.slice(1), [{ ...common, end: end.kind, reason, retryInMs: undefined }]);
  });
}

for (const [kind, step] of [
  ['unreachable', UNREACHABLE],
  ['refused', REFUSED],
] as const) {
  test(`after a session that ends as ${kind}, another follows once the wait is over`, async (t) => {
    const { reported, attempts, listener, pass } = listenScripted(t, [step, step]);
    await pass(1400);
    assert.equal(attempts.items.length, 1);
    await pass(200);
    assert.equal(attempts.items.length, 2, 'after 2 s, a quarter of it left out');
    await pass(2800);
    assert.equal(attempts.items.length, 2);
    await pass(200);
    assert.equal(attempts.items.length, 3, 'after another 4 s, a quarter of it left out');
    assert.ok(listener.connected());
    assert.deepEqual(
      reported.items.map((event) => ('retryInMs' in event ? [event.end, event.retryInMs] : event)),
      [[kind, 1500], [kind, 3000], { kind: 'broker-connected', service: 'shop', broker: A, attempts: 3 }],
    );
  });
}

for (const isOpen of [false, true]) {
  test(`a session that is cut while it ${isOpen ? 'is open' : 'opens'} is followed by another`, async (t) => {
    const { reported, attempts, listener } = listenScripted(t, [staying(isOpen), staying(true)]);
    if (isOpen) await reported.find(({ kind }) => kind === 'broker-connected');
    else await attempts.reaches(1);
    listener.reconnect('for the test');
    const end = await reported.find(({ kind }) => kind === 'broker-session-ended');
    assert.ok(end.kind === 'broker-session-ended');
    assert.deepEqual([end.end, end.reason, end.retryInMs !== undefined], ['lost', 'for the test', true]);
  });
}

test('a session reports a failure of TLS, that it declared its exchange, and that the broker takes no messages', async (t) => {
  const tls: Step = () => ({ kind: 'unreachable', reason: 'expired', isTls: true });
  const session: Step = (options) => {
    options.onExchangeDeclared('shopev');
    options.onPublishing('publish-blocked', 'low on memory');
    return opened(() => untilStopped(options), 'shopev');
  };
  const { reported, pass } = listenScripted(t, [tls, UNREACHABLE, session]);
  await pass(5000);
  const common = { service: 'shop', broker: A } as const;
  const isTls = reported.items.map((event) => event.kind === 'broker-session-ended' && event.isTls);
  assert.deepEqual(isTls.slice(0, 2), [true, undefined]);
  assert.deepEqual(reported.items.slice(2), [
    { ...common, kind: 'exchange-made', exchange: 'shopev' },
    { ...common, kind: 'publish-blocked', reason: 'low on memory' },
    { ...common, kind: 'broker-connected', exchange: 'shopev', attempts: 3 },
  ]);
});

test('after a broken session another follows at once, and messages keep arriving', async (t) => {
  const session: Step = () =>
    opened(async (deliver) => {
      deliver(MESSAGE, 0, 0);
      return LOST;
    });
  const { delivered, listener, attempts, reported, pass } = listenScripted(t, [session, session, session]);
  await pass(0);
  const attemptsTold = reported.items.flatMap((event) => ('attempts' in event ? [event.attempts] : []));
  assert.deepEqual(attemptsTold, [1, 1, 1, 1]);
  assert.equal(attempts.items.length, 4);
  assert.deepEqual(delivered.items, [MESSAGE, MESSAGE, MESSAGE]);
  assert.ok(listener.connected());
});

test('a session is healthy after a minute, not after a second', async (t) => {
  const standing =
    (ms: number): Step =>
    () =>
      opened(async () => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return LOST;
      });
  const { attempts, pass } = listenScripted(t, [
    standing(60_000),
    standing(60_000),
    standing(1000),
    standing(1000),
  ]);
  await pass(120_000);
  assert.equal(attempts.items.length, 3, 'each at once');
  await pass(1000);
  assert.equal(attempts.items.length, 4, 'the first brief one too');
  await pass(1000 + 1400);
  assert.equal(attempts.items.length, 4, 'but not the second in a row');
  await pass(200);
  assert.equal(attempts.items.length, 5);
});

test('each address of a list is tried without a wait in between', async (t) => {
  const { attempts, pass } = listenScripted(t, [REFUSED, UNREACHABLE, REFUSED], {
    addresses: 'amqp://a;amqp://b',
  });
  await pass(0);
  assert.deepEqual(attempts.items, [A, B]);
  await pass(1500);
  assert.deepEqual(attempts.items, [A, B, A, B]);
});

test('a broker that is back is noticed within two seconds, however long the wait', async (t) => {
  const outage = Array.from({ length: 20 }, () => UNREACHABLE);
  const { attempts, listening, reported, pass } = listenScripted(t, outage);
  await pass(200_000);
  const last = reported.items.at(-1);
  assert.ok(last?.kind === 'broker-session-ended' && last.retryInMs === 22_500);
  const { length } = attempts.items;
  listening.add('a');
  await pass(1300);
  assert.equal(attempts.items.length, length + 1);
});

test('a recovered address is the next one', async (t) => {
  const { attempts, listening, pass } = listenScripted(t, [UNREACHABLE, UNREACHABLE], {
    addresses: 'amqp://a;amqp://b',
  });
  await pass(500);
  listening.add('b');
  await pass(700);
  assert.deepEqual(attempts.items, [A, B, B]);
});

test('an address that refused is not probed, nor one that refused after it had been unreachable', async (t) => {
  const { attempts, probes, listening, pass } = listenScripted(t, [UNREACHABLE, REFUSED, REFUSED, REFUSED], {
    addresses: 'amqp://a;amqp://b',
  });
  await pass(500);
  listening.add('b');
  await pass(900);
  assert.deepEqual(attempts.items, [A, B]);
  assert.deepEqual([...new Set(probes.items)], [A]);
  await pass(200);
  assert.deepEqual(attempts.items, [A, B, A, B]);
  const { length } = probes.items;
  listening.add('a');
  await pass(1900);
  assert.deepEqual([attempts.items.length, probes.items.length], [4, length]);
});

test('if the port is open but no session can be opened, the wait is not cut short', async (t) => {
  const { attempts, listening, pass } = listenScripted(t, [REFUSED, UNREACHABLE, UNREACHABLE]);
  listening.add('a');
  await pass(1500);
  assert.equal(attempts.items.length, 2);
  await pass(2900);
  assert.equal(attempts.items.length, 2);
  await pass(200);
  assert.equal(attempts.items.length, 3);
});

const STOPS: readonly (readonly [string, readonly Step[], number])[] = [
  ['while it connects', [staying(false)], 100],
  ['while it is connected', [staying(true)], 100],
  ['while it waits', [REFUSED], 100],
  ['while it waits and watches', [UNREACHABLE], 100],
  ['as a wait begins', [UNREACHABLE], 0],
];

for (const [when, steps, ms] of STOPS) {
  test(`it stops at once ${when}, and leaves nothing behind`, async (t) => {
    const { listener, stopping, attempts, probes, reported, pass } = listenScripted(t, steps);
    await pass(ms);
    stopping.abort();
    // The time stands still from here on.
    assert.equal(await listener.done, 'stopped');
    assert.equal(listener.connected(), false);
    assert.deepEqual(getEventListeners(stopping.signal, 'abort'), []);
    const before = [attempts.items.length, probes.items.length, reported.items.length];
    await pass(60_000);
    assert.deepEqual([attempts.items.length, probes.items.length, reported.items.length], before);
  });
}

test('no session follows a stop during a failing session', async (t) => {
  const stopping = new AbortController();
  const step: Step = (session) => {
    stopping.abort();
    return openThen(LOST)(session);
  };
  const { listener, reported, attempts } = listenScripted(t, [step], { signal: stopping.signal });
  assert.equal(await listener.done, 'stopped');
  assert.equal(attempts.items.length, 1);
  assert.deepEqual(
    reported.items.map((event) => ('retryInMs' in event ? [event.end, event.retryInMs] : event.kind)),
    ['broker-connected', ['lost', undefined]],
  );
});

test('a listener that is stopped before its start connects to nothing', async (t) => {
  const { listener, attempts, reported } = listenScripted(t, [], { signal: AbortSignal.abort() });
  assert.equal(await listener.done, 'stopped');
  assert.deepEqual([...attempts.items, ...reported.items], []);
});

test('an internal error during a message is reported, and costs neither the session nor the next message', async (t) => {
  let calls = 0;
  const deliver = () => {
    calls += 1;
    if (calls === 1) throw new Error('of ours');
  };
  const step: Step = (options) =>
    opened((deliver) => {
      deliver(MESSAGE, 0, 0);
      deliver(MESSAGE, 0, 0);
      return untilStopped(options);
    });
  const { reported, listener, pass } = listenScripted(t, [step], { deliver });
  await pass(0);
  assert.equal(calls, 2);
  assert.ok(listener.connected());
  assert.deepEqual(reported.items.at(-1), {
    kind: 'defect',
    service: 'shop',
    where: 'deliver',
    reason: 'of ours',
  });
});

test('an internal error of a transport is reported and does not end the loop', async (t) => {
  const { reported, listener, pass } = listenScripted(t, [
    () => {
      throw new Error('of ours');
    },
  ]);
  await pass(1500);
  assert.deepEqual(reported.items[0], {
    kind: 'defect',
    service: 'shop',
    where: 'transport',
    reason: 'of ours',
  });
  assert.ok(listener.connected());
});

test('it reports each gap, of each connection but the first and of each loss, and has the clock of its transport', async (t) => {
  let gaps = 0;
  let open = 0;
  const second: Step = (options) => {
    options.onShed(3);
    return staying(true)(options);
  };
  const { listener, pass } = listenScripted(t, [UNREACHABLE, openThen(LOST), second], {
    ...gapsOf(() => (gaps += 1)),
    during: () => {
      open += 1;
      return () => (open -= 1);
    },
  });
  assert.equal(listener.now(), 4711);
  assert.equal(listener.connected(), false);
  await pass(1000);
  assert.equal(gaps, 0);
  await pass(500);
  assert.deepEqual([gaps, open], [2, 1], 'what goes on during the first session has ended with it');
  assert.equal(listener.connected(), true);
});

test('work between two sessions is awaited during the wait, and only runs if another session follows', async (t) => {
  const between: PromiseWithResolvers<void>[] = [];
  const { attempts, pass, reported, stopping, listener } = listenScripted(t, [openThen(LOST), REFUSED], {
    between() {
      const pending = Promise.withResolvers<void>();
      between.push(pending);
      return pending.promise;
    },
  });
  await pass(5_000);
  assert.deepEqual([between.length, attempts.items.length], [1, 1]);
  between[0]?.resolve();
  await pass(0);
  assert.deepEqual([between.length, attempts.items.length], [2, 2], 'the wait had been over');
  between[1]?.resolve();
  await pass(0);
  assert.equal(attempts.items.length, 2, 'the wait is not over');
  await pass(5_000);
  assert.equal(attempts.items.length, 3);
  stopping.abort();
  assert.equal(await listener.done, 'stopped');
  assert.equal(between.length, 2);
  assert.ok(!reported.items.some(({ kind }) => kind === 'defect'));
});

test('an internal error between two sessions is reported and does not end the loop', async (t) => {
  const { attempts, pass, reported } = listenScripted(t, [openThen(LOST)], {
    between: () => Promise.reject(new Error('broken')),
  });
  await pass(5_000);
  assert.equal(attempts.items.length, 2);
  assert.deepEqual(
    reported.items.filter(({ kind }) => kind === 'defect'),
    [{ kind: 'defect', service: 'shop', where: 'between', reason: 'broken' }],
  );
});

test('a server that breaks its protocol again and again is waited for, whatever it delivered before', async (t) => {
  const session: Step = () =>
    opened(async (deliver) => {
      deliver(MESSAGE, 0, 0);
      return { kind: 'malformed', reason: 'no frame' };
    });
  const { attempts, pass } = listenScripted(
    t,
    Array.from({ length: 9 }, () => session),
  );
  await pass(0);
  assert.equal(attempts.items.length, 2, 'the first time at once');
  await pass(1600);
  assert.equal(attempts.items.length, 3);
});
