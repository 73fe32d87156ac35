/** Costly bodies that arrive at once: together they take longer than an event loop turn may, but no turn does. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { createNoopMeter } from '@opentelemetry/api';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { openService, type Service } from '../../src/service/service.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { bound } from '../bound.ts';
import { content, field, sized } from '../broker/amqp/frames.ts';
import { deliver, startScriptedBroker } from '../broker/amqp/scripted-broker.ts';
import { fileOf, HEADER, lineOf } from '../broker/recording/replay.ts';
import { JSON_SHAPES } from '../celery/json-shapes.ts';
import { longestTurnMs } from '../longest-turn.ts';
import { leastMs } from '../processor-time.ts';
import { serviceAt } from './recorded-service.ts';

const BODIES = 11;
/** Of a socket, at most. */
const READ_BYTES = 64 * 1024;
const TURN_MS_MAX = 50;
const CHANNEL = 1;

const BODY = zstdCompressSync(
  JSON_SHAPES['numbers that are none']?.({
    bytes: BODY_LIMITS.unscanned.max,
    tokens: BODY_LIMITS.unscanned.max,
  }) ?? '',
);
const HEADERS = field('compression', sized('S', Buffer.from('application/zstd')));
const MESSAGE = deliver(content(CHANNEL, HEADERS, BODY));
const BURST = Buffer.concat(Array<Buffer>(BODIES).fill(MESSAGE));

interface Listening {
  readonly service: Service;
  of(reason: string): number;
}

/** A service that listens at an address. */
function listenAt(t: TestContext, url: string): Listening {
  const reported: string[] = [];
  const config = serviceAt('shop', url);
  const service = openService({
    ...config,
    polling: config,
    metrics: { meter: createNoopMeter(), choice: config.choice, retire: () => {}, countEvent: () => {} },
    report: (event) => reported.push(event.kind === 'input-dropped' ? event.reason : event.kind),
    random: () => 0,
    yieldToLoop: createYieldToLoop(),
  });
  t.after(() => service.stop());
  return { service, of: (reason) => reported.filter((each) => each === reason).length };
}

/** Each way to send them at once; resolves once the service is connected, with a function to begin. */
const WAYS: Readonly<Record<string, (t: TestContext) => Promise<{ url: string; begin?: () => void }>>> = {
  async 'one read of a socket'(t) {
    const { url, send } = await startScriptedBroker(t);
    return { url, begin: () => send(BURST) };
  },
  async 'one read with the answer to the subscription'(t) {
    return startScriptedBroker(t, BURST);
  },
  async 'a recording, at one time'(t) {
    const headers = { compression: 'application/zstd' };
    const line = lineOf(0, {
      headers,
      body: BODY,
      contentType: 'application/json',
      contentEncoding: 'utf-8',
    });
    return { url: `recording:${fileOf(t, HEADER, ...Array<string>(BODIES).fill(line))}` };
  },
};

for (const [way, start] of Object.entries(WAYS)) {
  test(`${BODIES} compressed bodies in ${way}: no event loop turn takes ${TURN_MS_MAX} ms`, async (t) => {
    assert.ok(BURST.length <= READ_BYTES, `${BURST.length} bytes`);
    let listening: Listening | undefined;
    const turnMs = await leastMs(TURN_MS_MAX, async () => {
      const { url, begin } = await start(t);
      return await longestTurnMs(async () => {
        const { service, of } = listenAt(t, url);
        listening = { service, of };
        assert.ok(await service.ready);
        begin?.();
        while (of('batch-too-long') + of('decompression-too-costly') < BODIES) await delay(5);
      });
    });
    assert.ok(
      listening !== undefined && listening.of('batch-too-long') > BODIES / 2,
      'most of them are parsed',
    );
    assert.equal(listening.of('defect'), 0);
    bound(t, `longest turn for ${BODIES} compressed bodies in ${way}`, turnMs, TURN_MS_MAX, 'ms');
  });
}
