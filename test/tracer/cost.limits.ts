/** What a finished run costs in the tracer, compared with the hash of one id: ratios, since machines differ. */
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import type { TraceSettings } from '../../src/tracer/trace-settings.ts';
import { bound } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { run, sent, tracer } from './finished-facts.ts';

const RUNS = 20_000;
const ROUNDS = 7;

const RULES: TraceSettings['sampler'] = {
  kind: 'rule_based',
  rules: [
    { attributeValues: { key: 'celery.task.outcome', values: ['failed'] }, sampler: { kind: 'always_on' } },
    { attributeValues: { key: 'celery.task.slow', values: ['true'] }, sampler: { kind: 'always_on' } },
    { sampler: { kind: 'probability', ratio: 2 ** -40 } },
  ],
};
const IDENTITY = { task: 'shop.charge', queue: 'orders', worker: 'w1@h' };

function finished(): readonly FinishedRun[] {
  return Array.from({ length: RUNS }, (_, n) => {
    const uuid = `90817c7f-6c28-4fe5-aa46-${n.toString(16).padStart(12, '0')}`;
    return run({ uuid, run: IDENTITY, sent: sent(), runtimeS: 0.05, waitTimeS: 0.01, queueTimeS: 0.005 });
  });
}

/** The least of several rounds, µs for one of them. */
function leastUs(work: () => void): number {
  return (Math.min(...Array.from({ length: ROUNDS }, () => processorMs(work))) / RUNS) * 1000;
}

function tracingUs(facts: readonly FinishedRun[], settings: Partial<TraceSettings>): number {
  const made = tracer({ slowAfterMs: 60_000, ...settings });
  return leastUs(() => {
    for (const fact of facts) made.trace(fact);
  });
}

test('two kept spans cost as much as some hashes, a dropped run as a few', (t) => {
  const facts = finished();
  const hashUs = leastUs(() => {
    for (const { uuid } of facts) hash('sha256', `${uuid}/process/0/0`, 'hex');
  });
  const keptUs = tracingUs(facts, {});
  const droppedUs = tracingUs(facts, { sampler: RULES });
  t.diagnostic(`hash ${hashUs.toFixed(2)} µs`);
  bound(t, 'two kept spans, compared with a hash', keptUs / hashUs, 25, 'times');
  bound(t, 'a dropped run, compared with a hash', droppedUs / hashUs, 6, 'times');
});
