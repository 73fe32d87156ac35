/** Which spans have a `service.name` of their own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { ServiceNames } from '../../src/tracer/service-names.ts';
import type { ServiceNameRule } from '../../src/tracer/trace-settings.ts';
import { lone, run, sent, tracer } from './finished-facts.ts';

const ORDER = { task: 'shop.charge', queue: 'orders', worker: 'w1@h' };

const rule = (of: Omit<ServiceNameRule, 'label'>): ServiceNameRule => ({ ...of, label: '' });

function namesOf(rules: readonly Omit<ServiceNameRule, 'label'>[], of: Partial<FinishedRun> = {}) {
  const { spans } = tracer({ serviceNames: rules.map(rule) }).trace(run({ run: ORDER, ...of }));
  return spans.map(({ serviceName }) => serviceName);
}

test('the first rule whose patterns all match names the service of a run', () => {
  assert.deepEqual(namesOf([{ task: 'shop.*', name: 'a' }]), ['a']);
  assert.deepEqual(namesOf([{ queue: 'order?', name: 'a' }]), ['a']);
  assert.deepEqual(namesOf([{ worker: 'w?@*', name: 'a' }]), ['a']);
  const first = [
    { task: 'other', name: 'a' },
    { task: 'shop.*', queue: 'mail', name: 'b' },
    { task: 'shop.*', queue: 'orders', worker: 'w1@*', name: 'c' },
    { task: 'shop.*', name: 'd' },
  ];
  assert.deepEqual(namesOf(first), ['c']);
  assert.deepEqual(namesOf(first.slice(0, 2)), [undefined]);
});

test('runs of one task on two queues have two names, whichever is first', () => {
  const made = tracer({ serviceNames: [rule({ queue: 'mail', name: 'mailer' })] });
  const nameOn = (queue: string) => made.trace(run({ run: { ...ORDER, queue } })).spans[0]?.serviceName;
  assert.deepEqual(['mail', 'orders', 'mail', 'orders'].map(nameOn), [
    'mailer',
    undefined,
    'mailer',
    undefined,
  ]);
});

test('a sending belongs to its sender: only rules about nothing but the worker apply', () => {
  const of = { sent: sent({ sender: 'gen1@web' }) };
  assert.deepEqual(namesOf([{ task: 'shop.*', name: 'a' }], of), [undefined, 'a']);
  assert.deepEqual(namesOf([{ queue: '*', name: 'a' }], of), [undefined, 'a']);
  assert.deepEqual(namesOf([{ queue: '*', worker: '*', name: 'a' }], of), [undefined, 'a']);
  assert.deepEqual(namesOf([{ worker: '*@web', name: 'a' }], of), ['a', undefined]);
  const both = [
    { task: 'shop.*', name: 'a' },
    { worker: 'w1@*', name: 'b' },
    { worker: '*@web', name: 'c' },
    { worker: '*', name: 'd' },
  ];
  assert.deepEqual(namesOf(both, of), ['c', 'a']);
  const alone = tracer({ serviceNames: both.map(rule) }).trace(lone({ sent: sent({ sender: '12@x' }) }));
  assert.deepEqual(
    alone.spans.map(({ serviceName }) => serviceName),
    ['d'],
  );
});

test('senders with strange or long names, or without one, are matched, too, and again', () => {
  const names = new ServiceNames([rule({ worker: '*@web', name: 'a' })]);
  const long = `${'x'.repeat(10_000)}@web`;
  for (const sender of [long, '__proto__@web', '1@web']) {
    assert.deepEqual([names.ofSender(sender), names.ofSender(sender)], ['a', 'a'], sender.slice(0, 20));
  }
  for (const sender of ['', '__proto__', '7', 'x'.repeat(10_000)]) {
    assert.deepEqual([names.ofSender(sender), names.ofSender(sender)], [undefined, undefined]);
  }
});

test('without rules, spans have no such key', () => {
  const { spans } = tracer().trace(run({ sent: sent() }));
  assert.deepEqual(
    spans.map((span) => 'serviceName' in span),
    [false, false],
  );
});
