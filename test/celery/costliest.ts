/**
 * Decodes messages in a separate process and prints their cost: processor time of the thread, and how far its memory
 * grew. Its input is JSON: pairs of a compression and a body in base64. base64.
 */
import { readFileSync } from 'node:fs';
import { decode } from '../../src/celery/decode.ts';
import { message, WIRE_EVENTS } from './wire.ts';

const ROUNDS = 5;

const given: readonly (readonly [compression: string, base64: string])[] = JSON.parse(
  readFileSync(0, 'utf8'),
);
const messages = given.map(([compression, base64]) =>
  message(Buffer.from(base64, 'base64'), { headers: { compression } }),
);
for (const event of Object.values(WIRE_EVENTS)) decode(message(event));

const beforeKb = process.memoryUsage.rss() / 1024;
const mediansMs = messages.map((each) => {
  const costsMs = Array.from({ length: ROUNDS }, () => {
    const before = process.threadCpuUsage();
    decode(each);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return costsMs.sort((a, b) => a - b)[ROUNDS >> 1];
});
const grownMb = (process.resourceUsage().maxRSS - beforeKb) / 1000;
process.stdout.write(JSON.stringify({ mediansMs, grownMb }));
