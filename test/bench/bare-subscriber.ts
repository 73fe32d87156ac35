/**
 * The baseline on Redis: a subscriber with the same client that only parses the JSON of the envelopes and of the events in
 * them. Runs in its own process, and prints on stdout how many events it has parsed.
 */
import { Redis } from 'ioredis';

const url = process.argv[2];
if (url === undefined) throw new Error('usage: bare-subscriber.ts REDIS_URL');

let parsed = 0;
let reported = -1;

const client = new Redis(url, { protocol: 2 });
client.on('pmessageBuffer', (_pattern, _channel, message: Buffer) => {
  const envelope: { readonly body: string } = JSON.parse(message.toString());
  const body: unknown = JSON.parse(Buffer.from(envelope.body, 'base64').toString());
  parsed += Array.isArray(body) ? body.length : 1;
});
await client.psubscribe('/0.celeryev/*');
setInterval(() => {
  if (parsed !== reported) process.stdout.write(`${parsed}\n`);
  reported = parsed;
}, 200);
