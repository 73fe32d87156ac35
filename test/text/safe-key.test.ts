/** Keys for texts from outside: each belongs to one text, and no map has a decimal number as a key. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MissingEvents } from '../../src/service/missing-events.ts';
import { safeKey, textOf } from '../../src/text/safe-key.ts';
import { received, retried, sent, started, T0_MS, watch } from '../cluster/events.ts';
import { collectingStreams } from '../otlp/collect/collecting-streams.ts';
import { fc } from '../seed.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom('#', '0', '9', 'u'), maxLength: 19 }),
  fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
);

test('a key is no number that the engine knows, and has its text', () => {
  fc.assert(
    fc.property(text, (given) => {
      assert.ok(!/^\d{1,16}$/u.test(safeKey(given)), safeKey(given));
      assert.equal(textOf(safeKey(given)), given);
    }),
    { numRuns: 2000 },
  );
});

test('names, and ids of Celery, are their own keys', () => {
  for (const own of ['', 'shop.pay', 'w1@shop', '0f2c8d4e-1b7a-4d5e-9c3f-2a6b8d7e1f00'])
    assert.equal(textOf(safeKey(own)), own);
  for (const own of ['shop.pay', '0f2c8d4e-1b7a-4d5e-9c3f-2a6b8d7e1f00']) assert.equal(safeKey(own), own);
});

const DECIMAL = /^\d{1,16}$/u;

/** The decimal numbers that were keys in any Map or Set during the work. */
async function decimalKeys(t: TestContext, work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const { set } = Map.prototype;
  const { add } = Set.prototype;
  const note = (key: unknown) => {
    if (typeof key === 'string' && DECIMAL.test(key)) add.call(found, key);
  };
  t.mock.method(Map.prototype, 'set', function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
    note(key);
    return set.call(this, key, value);
  });
  t.mock.method(Set.prototype, 'add', function (this: Set<unknown>, key: unknown) {
    note(key);
    return add.call(this, key);
  });
  await work();
  t.mock.restoreAll();
  return found;
}

test('names that are decimal numbers are keys in no map', async (t) => {
  const found = await decimalKeys(t, async () => {
    const on = watch({ workersMax: 2 });
    const missing = new MissingEvents(1000);
    const [hostname, name, queue] = ['4294967296', '8589934592', '17179869184'];
    for (let index = 0; index < 4; index += 1) {
      const of = { uuid: `${index}`, hostname: `${hostname}${index}`, timestampMs: T0_MS + index };
      for (const event of [sent({ name, queue }), received({ name }), started(), retried('KeyError')]) {
        on.cluster.apply({ ...event, ...of }, T0_MS);
      }
      missing.note({ type: 'worker-heartbeat', hostname: of.hostname, processed: index });
    }
    on.cluster.flush();
    on.cluster.collect(T0_MS + 10_000);
    const { meter, retire, read } = collectingStreams();
    meter('a').createCounter('c').add(1, { worker: hostname });
    retire('worker', [hostname]);
    await read();
  });
  assert.deepEqual([...found], []);
});
