import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListeningClock, PROOF_INTERVAL_MS } from '../../../src/broker/session/listening-clock.ts';

const WALL_MS = 1_795_260_275_000;

/** A listening clock with times in seconds since the beginning. */
function clock() {
  const listening = new ListeningClock();
  const at = (s: number) => [s * 1_000, WALL_MS + s * 1_000] as const;
  return {
    begin: (s: number) => listening.begin(...at(s)),
    proven: (s: number) => listening.proven(...at(s)),
    end: () => listening.end(),
    listenedS: () => listening.listenedMs / 1_000,
    wallS: (s: number) => (listening.wallMs(...at(s)) - WALL_MS) / 1_000,
  };
}

test('listened time counts from the start of the session to the last proof of life', () => {
  const { begin, proven, listenedS } = clock();
  proven(5);
  assert.equal(listenedS(), 0, 'not before');
  begin(10);
  assert.equal(listenedS(), 0);
  for (const s of [11, 12, 12.5]) proven(s);
  assert.equal(listenedS(), 2.5);
});

test('the time between the last proof of life and the next session does not count', () => {
  const { begin, proven, end, listenedS } = clock();
  begin(0);
  proven(1);
  end();
  proven(3);
  begin(60);
  proven(61);
  assert.equal(listenedS(), 2);
});

test('time does not count while the process or the network is stalled', () => {
  const { begin, proven, listenedS } = clock();
  begin(0);
  proven(1);
  proven(3_601);
  assert.equal(listenedS(), 2.5);
  proven(3_602);
  assert.equal(listenedS(), 3.5);
});

test('it never goes back, whatever the inputs', () => {
  const { begin, proven, listenedS } = clock();
  begin(10);
  proven(11);
  proven(5);
  assert.equal(listenedS(), 1);
  proven(6);
  assert.equal(listenedS(), 2);
});

test('the wall clock stops while disconnected and is correct again afterwards', () => {
  const { begin, proven, end, wallS } = clock();
  assert.equal(wallS(7), 7, 'before the first session there is nothing to keep');
  begin(10);
  assert.equal(wallS(11), 11);
  proven(11);
  assert.equal(wallS(12), 12);
  assert.equal(wallS(20), 11, 'nothing came for long');
  end();
  assert.equal(wallS(21), 11);
  begin(30);
  assert.equal(wallS(31), 31);
});

test('the steady time goes on as our clock was when the connection began, whatever it is set to', () => {
  const listening = new ListeningClock();
  listening.begin(1_000, WALL_MS);
  listening.proven(2_500, WALL_MS + 3_600_000);
  assert.equal(listening.steadyMs, WALL_MS + 1_500);
  listening.proven(3_000, WALL_MS - 90_000_000);
  assert.equal(listening.steadyMs, WALL_MS + 2_000);
  listening.end();
  listening.begin(10_000, WALL_MS + 3_600_000);
  listening.proven(11_000, WALL_MS);
  assert.equal(listening.steadyMs, WALL_MS + 3_601_000);
});

test('in a quiet cluster with replies only, all time counts', () => {
  const listening = new ListeningClock();
  listening.begin(0, WALL_MS);
  let stoodStill = 0;
  for (let upMs = 100; upMs <= 120_000; upMs += 100) {
    const isTick = upMs % PROOF_INTERVAL_MS === 0;
    if (isTick && listening.needsProof(upMs)) listening.proven(upMs + 5, WALL_MS + upMs + 5);
    if (listening.wallMs(upMs, WALL_MS + upMs) !== WALL_MS + upMs) stoodStill += 1;
  }
  assert.ok(listening.listenedMs >= 119_000, `${listening.listenedMs}`);
  assert.equal(stoodStill, 0);
});

test('no proof of life is requested while events arrive, or while disconnected', () => {
  const listening = new ListeningClock();
  assert.equal(listening.needsProof(10_000), false);
  listening.begin(0, WALL_MS);
  listening.proven(900, WALL_MS + 900);
  assert.equal(listening.needsProof(1_000), false);
  assert.equal(listening.needsProof(1_400), true);
  listening.end();
  assert.equal(listening.needsProof(9_000), false);
});
