/**
 * Decodes messages in a separate process and prints their cost: processor time of the thread, in ms of a normal machine, and
 * how far its memory grew. Its argument is how many ms are few enough. Its input is JSON: pairs of a compression and a body in base64. base64.
 */
import { readFileSync } from 'node:fs';
import { decode } from '../../src/celery/decode.ts';
import { processorMs, slowness } from '../processor-time.ts';
import { message, WIRE_EVENTS } from './wire.ts';

const ROUNDS = 5;
const enoughMs = Number(process.argv[2]);

const given: readonly (readonly [compression: string, base64: string])[] = JSON.parse(
  readFileSync(0, 'utf8'),
);
const messages = given.map(([compression, base64]) =>
  message(Buffer.from(base64, 'base64'), { headers: { compression } }),
);
for (const event of Object.values(WIRE_EVENTS)) decode(message(event));

const slower = slowness();
const beforeKb = process.memoryUsage.rss() / 1024;
const mediansMs = messages.map((each) => {
  const costsMs: number[] = [];
  // Once most are small enough, the median is.
  for (let small = 0; costsMs.length < ROUNDS && small <= ROUNDS >> 1; ) {
    const costMs = processorMs(() => decode(each)) / slower;
    if (costMs <= enoughMs) small += 1;
    costsMs.push(costMs);
  }
  return costsMs.sort((a, b) => a - b)[costsMs.length >> 1];
});
const grownMb = (process.resourceUsage().maxRSS - beforeKb) / 1000;
process.stdout.write(JSON.stringify({ mediansMs, grownMb }));
