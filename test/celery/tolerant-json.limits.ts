/** That JSON with tokens which it has not is parsed in linear time. */
import { test } from 'node:test';
import { parseTolerantJson } from '../../src/celery/tolerant-json.ts';
import { boundWorst } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { hostileJson } from './hostile-json.ts';

test('the time is bounded for megabytes of any text', (t) => {
  // Tens of milliseconds where it is linear, minutes where it is not.
  const costs = hostileJson(4_000_000).map(
    (text) => [`of ${text.slice(0, 10)}…`, processorMs(() => parseTolerantJson(text))] as const,
  );
  boundWorst(t, 'parsing 4 MB of JSON with NaN', costs, 5_000, 'ms');
});
