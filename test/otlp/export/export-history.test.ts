import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createExportHistory } from '../../../src/otlp/export/export-history.ts';

const ARRIVED = { outcome: 'success', items: 7, rejectedItems: 0 } as const;
const IN_PART = { outcome: 'partial', items: 7, rejectedItems: 2 } as const;
const REJECTED = { outcome: 'partial', items: 7, rejectedItems: 7 } as const;
const FAILED = { outcome: 'failure', items: 0, rejectedItems: 0 } as const;
const HALF_FAILED = { outcome: 'failure', items: 3, rejectedItems: 0 } as const;
const NOTHING = { outcome: 'success', items: 0, rejectedItems: 0 } as const;

test('the first success after failures reports their number and the time of the first', () => {
  const { note } = createExportHistory();
  assert.equal(note('shop', ARRIVED, 0), undefined);
  assert.equal(note('shop', FAILED, 1000), undefined);
  assert.equal(note('shop', HALF_FAILED, 2000), undefined);
  assert.deepEqual(note('shop', ARRIVED, 4500), { failures: 2, afterMs: 3500 });
  assert.equal(note('shop', ARRIVED, 5000), undefined);
  note('shop', FAILED, 6000);
  assert.deepEqual(note('shop', IN_PART, 7000), { failures: 1, afterMs: 1000 });
});

test('exports fail until one arrives; one that is empty changes nothing', () => {
  const { note, isFailing } = createExportHistory();
  const failing = [NOTHING, FAILED, NOTHING, HALF_FAILED, REJECTED, ARRIVED, NOTHING].map((outcome) => {
    note('shop', outcome, 0);
    return isFailing('shop');
  });
  assert.deepEqual(failing, [false, true, true, true, true, false, false]);
});

test('each source has its own history', () => {
  const { note, hasArrived } = createExportHistory();
  note('shop', FAILED, 0);
  assert.equal(note('mail', ARRIVED, 1000), undefined);
  assert.deepEqual([hasArrived('shop'), hasArrived('mail')], [false, true]);
});

test('something has arrived once a backend took items, if not all of them', () => {
  const { note, hasArrived } = createExportHistory();
  note('shop', NOTHING, 0);
  note('shop', FAILED, 1000);
  assert.equal(hasArrived('shop'), false);
  note('shop', HALF_FAILED, 2000);
  assert.equal(hasArrived('shop'), true);
});

test('items are rejected until an export arrives of which none is', () => {
  const { note, hasRejectedItems } = createExportHistory();
  const reported = [NOTHING, ARRIVED, IN_PART, NOTHING, FAILED, REJECTED, HALF_FAILED, IN_PART, ARRIVED].map(
    (outcome) => {
      note('shop', outcome, 0);
      return hasRejectedItems('shop');
    },
  );
  assert.deepEqual(reported, [false, false, true, true, true, true, false, true, false]);
});
