/**
 * Workers without Celery, in a process of their own: they send heartbeats and answer remote control as Celery’s do, on either
 * broker. They run no tasks.
 *
 *     node simulated-workers.ts URL COUNT DELAY_MS
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from 'amqplib';
import { Redis as Client } from 'ioredis';
import { type EventFields, event, publish } from './publish.ts';

const HEARTBEAT_MS = 2000;
/** Of each of them. */
export const SIMULATED_PID = 20_619;

/** What Celery 5.6 replies, with thirty names of tasks. */
const REPLIES: Readonly<Record<string, unknown>> = {
  stats: {
    total: Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`shop.tasks.module${index}.run`, index]),
    ),
    ...{ pid: SIMULATED_PID, clock: '24', uptime: 8, prefetch_count: 32 },
    pool: {
      ...{ implementation: 'celery.concurrency.prefork:TaskPool', 'max-concurrency': 8 },
      processes: [1, 2, 3, 4, 5, 6, 7, 8],
      writes: { total: 4, avg: '0.33', all: '0.50, 0.25, 0.25', raw: '2, 1, 1', strategy: 'fair' },
    },
    broker: { hostname: '127.0.0.1', userid: 'guest', transport: 'amqp', alternates: [], heartbeat: 120 },
    rusage: {
      utime: 0.54,
      stime: 0.159,
      maxrss: 51_840,
      minflt: 23_259,
      majflt: 16,
      nvcsw: 193,
      nivcsw: 311,
    },
  },
  active_queues: ['orders', 'emails', 'reports'].map((name) => ({
    name,
    exchange: { name, type: 'direct', durable: true, auto_delete: false, delivery_mode: null },
    ...{
      routing_key: name,
      durable: true,
      exclusive: false,
      auto_delete: false,
      bindings: [],
      expires: null,
    },
  })),
  active: [],
};

/**
 * Starts them; resolves once they have sent their first heartbeats.
 * @param delayMs before each reply
 */
export async function startSimulatedWorkers(
  url: string,
  count: number,
  delayMs = 0,
): Promise<{ stop(): Promise<void> }> {
  const child = fork(fileURLToPath(import.meta.url), [url, String(count), String(delayMs)]);
  await once(child, 'message');
  return {
    async stop() {
      if (child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

interface Request {
  readonly method: string;
  readonly ticket: string;
  /** Null: everybody. */
  readonly destination: readonly string[] | null;
  readonly reply_to: { readonly exchange: string; readonly routing_key: string };
}

/** Those of the workers that a request is for. */
function addressed({ destination }: Request, names: readonly string[]): readonly string[] {
  return destination === null ? names : names.filter((nodename) => destination.includes(nodename));
}

function replyOf({ method }: Request, nodename: string): string {
  return JSON.stringify({ [nodename]: REPLIES[method] ?? { ok: 'pong' } });
}

async function answerOnRabbitmq(url: string, names: readonly string[], delayMs: number): Promise<void> {
  const channel = await (await connect(url)).createChannel();
  await channel.assertExchange('celery.pidbox', 'fanout', { durable: false });
  await channel.assertExchange('reply.celery.pidbox', 'direct', { durable: false });
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, 'celery.pidbox', '');
  await channel.consume(
    queue,
    async (message) => {
      if (delayMs > 0) await delay(delayMs);
      const request: Request = JSON.parse(String(message?.content));
      const { exchange, routing_key: key } = request.reply_to;
      const headers = { ticket: request.ticket, clock: 3 };
      for (const nodename of addressed(request, names)) {
        channel.publish(exchange, key, Buffer.from(replyOf(request, nodename)), {
          ...{ contentType: 'application/json', contentEncoding: 'utf-8', headers },
        });
      }
    },
    { noAck: true },
  );
}

async function answerOnRedis(url: string, names: readonly string[], delayMs: number): Promise<void> {
  const [subscriber, out] = [new Client(url, { protocol: 2 }), new Client(url, { protocol: 2 })];
  subscriber.on('message', async (_, text) => {
    if (delayMs > 0) await delay(delayMs);
    const request: Request = JSON.parse(Buffer.from(JSON.parse(text).body, 'base64').toString());
    const { exchange, routing_key: key } = request.reply_to;
    for (const nodename of addressed(request, names)) {
      const envelope = {
        body: Buffer.from(replyOf(request, nodename)).toString('base64'),
        ...{ 'content-encoding': 'utf-8', 'content-type': 'application/json' },
        headers: { ticket: request.ticket, clock: 3 },
        properties: { delivery_mode: 1, priority: 0, body_encoding: 'base64', delivery_tag: 'x' },
      };
      out.lpush(`${key}.${exchange}`, JSON.stringify(envelope));
    }
  });
  // As kombu writes it.
  const members = names.map((nodename) => `\u0006\u0016\u0006\u0016${nodename}.celery.pidbox`);
  await out.sadd('_kombu.binding.celery.pidbox', ...members);
  await subscriber.subscribe('/0.celery.pidbox');
  // Redis says how many received a question, so each worker has a connection.
  const { hostname, port } = new URL(url);
  for (let other = 1; other < names.length; other += 1) {
    const socket = connectSocket(Number(port), hostname);
    socket.write('SUBSCRIBE /0.celery.pidbox\r\n');
    await once(socket, 'data');
    socket.resume();
  }
}

if (process.argv[1] === import.meta.filename) {
  const [, , url = '', count = '0', delayMs = '0'] = process.argv;
  const names = Array.from({ length: Number(count) }, (_, index) => `w${index}@shop`);
  await (url.startsWith('redis:') ? answerOnRedis : answerOnRabbitmq)(url, names, Number(delayMs));
  let clock = 0;
  const beat = async (): Promise<void> => {
    clock += 1;
    const beats = names.map(
      (hostname): EventFields =>
        event('worker-heartbeat', {
          hostname,
          pid: SIMULATED_PID,
          clock,
          active: 1,
          processed: 7,
          sw_ver: '5.6.3',
        }),
    );
    await publish(url, beats);
  };
  await beat();
  setInterval(beat, HEARTBEAT_MS);
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}
