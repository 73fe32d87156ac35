/** What a check makes of the events of a service, without a broker. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ControlQuestion } from '../../src/broker/control/control.ts';
import { CheckEvidence } from '../../src/check/check-evidence.ts';
import { watchService } from '../../src/check/watch-service.ts';
import { Log } from '../broker/log.ts';
import { MESSAGE, type Step, scriptedTransports, untilStopped } from '../broker/scripted-transport.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type RecordedEvent, recordedService, serviceAt } from '../service/recorded-service.ts';

const HEARTBEAT = { type: 'worker-heartbeat', fields: { hostname: 'w1@shop', sw_ver: '5.6.0', freq: 2 } };

async function linesOf(t: TestContext, events: readonly RecordedEvent[], workersMax: number) {
  const service = recordedService(t, 'shop', events);
  const { findings } = watchService(
    { ...service, cluster: { ...service.cluster, workersMax } },
    { watchMs: DEADLINE_MS, random: () => 0, signal: new AbortController().signal },
  );
  return (await findings).map(({ line }) => line);
}

test('the last events count, too, although others could have been sent before them', async (t) => {
  const lines = await linesOf(t, [{ ...HEARTBEAT, afterMs: 0 }], 10);
  assert.ok(lines.includes('w1@shop: Celery 5.6.0, pool unknown'), lines.join('\n'));
});

test('an event of a worker for which there is no room is not applied', async (t) => {
  const other = { ...HEARTBEAT.fields, hostname: 'w2@shop' };
  const lines = await linesOf(
    t,
    [
      { ...HEARTBEAT, afterMs: 0 },
      { ...HEARTBEAT, fields: other, afterMs: 100 },
    ],
    1,
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith('w')),
    ['w1@shop: Celery 5.6.0, pool unknown'],
  );
});

/** Watches a service with all commands of remote control, until what was asked suffices. */
async function watchLive(t: TestContext, isEnough: (asked: readonly ControlQuestion[]) => boolean) {
  const reported = t.mock.method(CheckEvidence.prototype, 'report');
  const asked = new Log<ControlQuestion>();
  const ending = new AbortController();
  t.after(() => ending.abort());
  const observers: (boolean | undefined)[] = [];
  const session: Step = (options) => {
    observers.push(options.isObserver);
    return {
      kind: 'opened',
      session: {
        ask(question) {
          asked.add(question);
          return Promise.reject(new Error('nobody answers'));
        },
        receive(deliver) {
          deliver({ ...MESSAGE, body: Buffer.from('{}') }, 42, Date.now());
          return untilStopped(options);
        },
      },
    };
  };
  const env = {
    CELERY_OTEL_CONTROL_COMMANDS: 'stats,active_queues,active,reserved,scheduled',
    CELERY_OTEL_CONTROL_ENABLE_EVENTS: 'true',
  };
  const { findings } = watchService(serviceAt('shop', 'amqp://a', env), {
    ...{ watchMs: DEADLINE_MS, random: () => 0, signal: ending.signal },
    transports: scriptedTransports([session]),
  });
  await asked.find(() => isEnough(asked.items));
  ending.abort();
  await findings;
  return { asked: asked.items, observers, reported: reported.mock.calls.map((call) => call.arguments[0]) };
}

test('what cannot be read is evidence about its service; nothing is declared, and a running instance keeps its replies', async (t) => {
  const { asked, reported, observers } = await watchLive(t, (asked) => asked.length > 0);
  const dropped = reported.flatMap((event) => (event.kind === 'input-dropped' ? [event.service] : []));
  assert.deepEqual(dropped, ['shop']);
  assert.deepEqual(observers, [true]);
  assert.deepEqual(
    new Set(asked.map(({ command, redis }) => `${command} for ${redis.owner}`)),
    new Set(['ping for shop check']),
  );
});
