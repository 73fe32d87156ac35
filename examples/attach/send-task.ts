/**
 * Sends a Celery task, as a producer in Python does (message protocol 2). For a program that only sends now and then: it
 * connects for each task.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';

export interface TaskToSend {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly queue: string;
  /** The traceparent of the caller, so that all that follows from the task joins its trace. */
  readonly rootId: string;
}

/** @param broker its URL, of RabbitMQ or Redis */
export async function sendTask(broker: string, task: TaskToSend): Promise<void> {
  const { queue } = task;
  const id = randomUUID();
  const headers = headersOf(id, task);
  const body = Buffer.from(
    JSON.stringify([task.args, {}, { callbacks: null, errbacks: null, chain: null, chord: null }]),
  );
  const content = { contentType: 'application/json', contentEncoding: 'utf-8' };
  if (broker.startsWith('redis')) return sendToRedis(broker, queue, { id, headers, body, ...content });
  const connection = await connect(broker);
  try {
    const channel = await connection.createConfirmChannel();
    await channel.assertQueue(queue, { durable: true });
    channel.sendToQueue(queue, body, { ...content, headers, correlationId: id, persistent: true });
    await channel.waitForConfirms();
  } finally {
    await connection.close();
  }
}

function headersOf(id: string, { name, args, rootId }: TaskToSend) {
  return {
    ...{ lang: 'py', task: name, id, root_id: rootId, parent_id: null, group: null },
    ...{ retries: 0, eta: null, expires: null, timelimit: [null, null], shadow: null },
    ...{ argsrepr: JSON.stringify(args), kwargsrepr: '{}', ignore_result: true },
    origin: `${process.pid}@${hostname()}`,
  };
}

interface Message {
  readonly id: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
}

/** Kombu’s envelope. */
async function sendToRedis(url: string, queue: string, message: Message): Promise<void> {
  const redis = new Redis(url);
  try {
    const envelope = {
      body: message.body.toString('base64'),
      'content-type': message.contentType,
      'content-encoding': message.contentEncoding,
      headers: message.headers,
      properties: {
        correlation_id: message.id,
        delivery_mode: 2,
        delivery_tag: randomUUID(),
        delivery_info: { exchange: '', routing_key: queue },
        priority: 0,
        body_encoding: 'base64',
      },
    };
    await redis.lpush(queue, JSON.stringify(envelope));
  } finally {
    redis.disconnect();
  }
}
