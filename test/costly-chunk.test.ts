/** Costly bodies that come in one read of a socket: together they take longer than a turn may, and no turn does. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { createNoopMeter } from '@opentelemetry/api';
import { BODY_LIMITS } from '../src/celery/body-limits.ts';
import { startService } from '../src/service.ts';
import { createTurns } from '../src/turns.ts';
import { content, field, sized } from './broker/amqp/frames.ts';
import { startScriptedBroker } from './broker/amqp/scripted-broker.ts';
import { JSON_SHAPES } from './celery/json-shapes.ts';
import { longestTurnMs } from './longest-turn.ts';
import { serviceAt } from './recorded-service.ts';

const BODIES = 11;
/** Of a socket, at most. */
const READ_BYTES = 64 * 1024;
const TURN_MS_MAX = 50;
const CHANNEL = 1;

/** A service that listens to a broker of the test’s own. */
async function listening(t: TestContext) {
  const broker = await startScriptedBroker(t);
  const told: string[] = [];
  const service = startService({
    ...serviceAt('shop', broker.url),
    meter: createNoopMeter(),
    retire: () => {},
    self: { eventsOf: () => () => {} },
    tell: (event) => told.push(event.kind === 'input-dropped' ? event.reason : event.kind),
    random: () => 0,
    turn: createTurns(),
  });
  t.after(() => service.stop());
  assert.ok(await service.ready);
  const of = (reason: string): number => told.filter((each) => each === reason).length;
  return { ...broker, of };
}

test(`${BODIES} compressed bodies in one read: no turn takes ${TURN_MS_MAX} ms`, async (t) => {
  const { send, deliver, of } = await listening(t);
  const room = { bytes: BODY_LIMITS.unscanned.max, tokens: BODY_LIMITS.unscanned.max };
  const body = zstdCompressSync(JSON_SHAPES['numbers that are none']?.(room) ?? '');
  const headers = field('compression', sized('S', Buffer.from('application/zstd')));
  const message = deliver(content(CHANNEL, headers, body));
  assert.ok(message.length * BODIES <= READ_BYTES, `${message.length} bytes each`);
  const done = (): number => of('batch-too-long') + of('expands-too-far');
  const turnMs = await longestTurnMs(async () => {
    send(Buffer.concat(Array<Buffer>(BODIES).fill(message)));
    while (done() < BODIES) await delay(5);
  });
  t.diagnostic(`${Math.round(turnMs)} ms`);
  assert.ok(of('batch-too-long') > BODIES / 2, 'most of them are parsed');
  assert.equal(of('defect'), 0);
  assert.ok(turnMs < TURN_MS_MAX, `${turnMs} ms`);
});
