import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndedExport } from '../../src/otlp/backend.ts';
import { exportRequests } from '../../src/otlp/export/export-request.ts';
import type { Signal } from '../../src/otlp/send/signal.ts';
import { createSignalExport } from '../../src/otlp/signal-export.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { numbered, numbersIn } from './export/numbered.ts';
import { startHttpReceiver } from './send/http-receiver.ts';
import { otlpSettings } from './settings.ts';

/** A signal of numbers, which OTLP does not have. */
const NUMBERS: Signal<readonly number[]> = {
  name: 'numbers',
  encode: {
    protobuf: (data) => Buffer.from(data.join()),
    json: (data) => Buffer.from(JSON.stringify(data)),
  },
  decodeResponse: () => ({}),
  rejectedField: 'rejectedNumbers',
  grpcMethod: '/numbers.v1.NumbersService/Export',
  httpPath: '/v1/numbers',
  observed: {
    grpc: () => assert.fail('nothing observes it'),
    http: () => assert.fail('nothing observes it'),
  },
};

test('any signal is exported: an encoder, a path and what makes its requests are all that it is', async (t) => {
  const backend = await startHttpReceiver({
    answer: (response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"partialSuccess":{"rejectedNumbers":"1","errorMessage":"odd"}}');
    },
  });
  t.after(() => backend.stop());
  const { exporter, schedule } = otlpSettings(`http://127.0.0.1:${backend.port}/v1/numbers`, {
    exporter: { protocol: 'http/json' },
  });
  const ended: (readonly [string, EndedExport])[] = [];
  const exported = createSignalExport(NUMBERS, exporter, schedule, {
    onExport: (...one) => ended.push(one),
    onDefect: (_, reason) => assert.fail(String(reason)),
    random: () => 0,
    yieldToLoop: createYieldToLoop(),
  });
  const items = numbered(5);
  const source = { name: 'shop', collect: async () => exportRequests([items], numbersIn, 3) };
  assert.deepEqual(await exported.close([[source]], 5000), new Set());
  assert.deepEqual(
    backend.requests.map(({ path, body }) => [path, body.toString()]),
    [
      ['/v1/numbers', '[0,1,2]'],
      ['/v1/numbers', '[3,4]'],
    ],
  );
  assert.deepEqual(items.settled, [0, 1, 2, 3, 4]);
  const [[name, outcome] = []] = ended;
  assert.deepEqual(
    [name, outcome?.outcome, outcome?.items, outcome?.rejectedItems, outcome?.reason],
    ['shop', 'partial', 5, 2, 'odd'],
  );
});
