/**
 * The baseline: a consumer that reads Celery's events from RabbitMQ with the same client and only parses their JSON.
 * Runs in its own process, and prints on stdout how many events it has parsed.
 */
import { connect } from 'amqplib';

const url = process.argv[2];
if (url === undefined) throw new Error('usage: bare-consumer.ts AMQP_URL');

let parsed = 0;
let reported = -1;

const connection = await connect(url);
const channel = await connection.createChannel();
const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
await channel.bindQueue(queue, 'celeryev', '#');
await channel.consume(
  queue,
  (message) => {
    if (message === null) return;
    const body: unknown = JSON.parse(message.content.toString());
    parsed += Array.isArray(body) ? body.length : 1;
  },
  { noAck: true },
);
setInterval(() => {
  if (parsed !== reported) process.stdout.write(`${parsed}\n`);
  reported = parsed;
}, 200);
