/** A flood of bodies whose compression is corrupt: more than the time for decompression is enough for. */
import type { TestContext } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { DEADLINE_MS } from '../deadline.ts';
import type { BrokerName } from '../real/brokers.ts';
import { CORRUPT, TOO_COSTLY } from './hostile-messages.ts';
import { publishRaw } from './publish.ts';
import { watchBroker } from './shop.ts';

export const CORRUPT_MESSAGES = 10_000;

/** @returns how many were dropped for which reason, and in what time, seconds */
export async function floodWithCorrupt(t: TestContext, name: BrokerName) {
  const { url, sink } = await watchBroker(t, name);
  const fromMs = performance.now();
  await publishRaw(url, Array<typeof CORRUPT>(CORRUPT_MESSAGES).fill(CORRUPT));
  const points = await sink.waitFor(
    'celery-otel',
    (latest) => total(latest, 'celery_otel.input.dropped') >= CORRUPT_MESSAGES,
    DEADLINE_MS,
  );
  const tookS = (performance.now() - fromMs) / 1000;
  const of = (reason: string) =>
    total(points, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': reason });
  return {
    corrupt: of('corrupt-compression'),
    tooCostly: of(TOO_COSTLY),
    dropped: total(points, 'celery_otel.input.dropped'),
    tookS,
  };
}
