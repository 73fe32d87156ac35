/** A bridge with one service that cannot be started: nothing of it goes on. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { createBridge } from '../../src/bridge/bridge.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { CeleryOtelError } from '../../src/text/errors.ts';
import { type LoopbackServer, listenOnLoopback } from '../otlp/send/loopback-server.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { plainSdk } from '../plain-sdk.ts';
import { serviceAt } from '../service/recorded-service.ts';

/** A silent broker that knows which connections are open. */
async function silentBroker(t: TestContext): Promise<LoopbackServer> {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  const broker = await listenOnLoopback(server, {});
  t.after(() => broker.stop());
  return broker;
}

/** Every service begins with a random number; the next one shuffles the addresses of the last one, and throws. */
function chances(services: number): () => number {
  let left = services;
  return () => {
    left -= 1;
    if (left < 0) throw new Error('there is no chance');
    return 0.5;
  };
}

test('if one service cannot be started, the earlier ones stop and nothing is exported', async (t) => {
  const received: string[] = [];
  const sink = await startReceiver({
    onExport: ({ points }) => received.push(...points.map(({ metric }) => metric)),
  });
  t.after(() => sink.stop());
  const broker = await silentBroker(t);
  const shuffled = serviceAt('billing', 'amqp://127.0.0.1:1;amqp://127.0.0.1:2');
  const reported: SelfEvent[] = [];
  const [plain, plainToo] = [plainSdk(), plainSdk()];
  const bridge = createBridge({
    services: [
      serviceAt('shop', `amqp://127.0.0.1:${broker.port}`),
      { ...serviceAt('mail', `amqp://127.0.0.1:${broker.port}`), meterProvider: plain.provider },
      {
        ...shuffled,
        broker: { ...shuffled.broker, failoverStrategy: 'shuffle' },
        meterProvider: plainToo.provider,
      },
    ],
    otlp: otlpSettings(sink.url, { schedule: { intervalMs: 20 } }),
    self: { enabled: true, attributes: {} },
    report: (event) => reported.push(event),
    random: chances(3),
  });
  assert.throws(
    () => bridge.start(),
    (error) => {
      assert.ok(error instanceof CeleryOtelError);
      assert.equal(error.code, 'START_FAILED');
      assert.equal(error.message, 'The bridge could not be started: there is no chance');
      assert.ok(error.cause instanceof Error && error.cause.message === 'there is no chance');
      return true;
    },
  );

  assert.equal(await bridge.finished, 'stopped');
  assert.deepEqual(await bridge.ready, { kind: 'stopped', services: [] });
  assert.deepEqual(bridge.state(), []);
  assert.deepEqual(await bridge.stop(5000), { flushed: true, services: [] });
  const of = (kind: SelfEvent['kind']) => reported.filter((event) => event.kind === kind);
  assert.deepEqual(
    of('service-started').map((event) => 'service' in event && event.service),
    ['shop', 'mail'],
  );
  assert.deepEqual(
    of('broker-session-ended').map((event) => event.kind === 'broker-session-ended' && event.end),
    ['stopped', 'stopped'],
  );
  while (broker.connections() > 0) await nextTurn();
  for (const { collect, failures } of [plain, plainToo]) {
    assert.deepEqual(await collect(), []);
    assert.deepEqual(failures, [], 'nobody of the bridge is asked any more');
  }
  assert.deepEqual(of('defect'), []);
  assert.deepEqual(received, []);
  assert.throws(() => bridge.start(), { code: 'ALREADY_STARTED' });
});

test('an error with its own code keeps it', () => {
  const { exporter, ...otlp } = otlpSettings('https://127.0.0.1:1');
  const bridge = createBridge({
    services: [serviceAt('shop', 'amqp://127.0.0.1:1')],
    otlp: { ...otlp, exporter: { ...exporter, certificateFile: '/nowhere/ca.pem' } },
    self: { enabled: false, attributes: {} },
  });
  assert.throws(() => bridge.start(), { code: 'CONFIG_INVALID', message: /TLS file.*ENOENT/u });
});
