/** Publishes JSON messages with arbitrary bytes as headers, bypassing the library, which would not write them. */
import { Duplex } from 'node:stream';
import { connect } from 'amqplib';
import { content, method, short, shortText } from '../broker/amqp/frames.ts';

export interface RawPublisher {
  publish(headers: Buffer, body: object): void;
  close(): Promise<void>;
}

const FIRST_CHANNEL = 1;

/** Publishes to Celery's exchange. */
export async function rawPublisher(url: string): Promise<RawPublisher> {
  const model = await connect(url);
  await model.createChannel();
  const { connection } = model;
  if (!('stream' in connection && connection.stream instanceof Duplex)) throw new Error('it has no stream');
  const { stream } = connection;
  const toExchange = [short(0), shortText('celeryev'), shortText('task.sent'), Buffer.of(0)];
  const publish = method(FIRST_CHANNEL, 60, 40, ...toExchange);
  return {
    publish(headers, body) {
      const message = content(FIRST_CHANNEL, headers, Buffer.from(JSON.stringify(body)));
      stream.write(Buffer.concat([publish, message]));
    },
    close: () => model.close(),
  };
}
