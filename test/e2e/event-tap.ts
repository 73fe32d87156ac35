/** Counts the published events independently of the bridge. */
import { openBrokerChannel } from './broker-channel.ts';

export interface EventTap {
  /** Type of the event → how many. */
  counts(): Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** Of Celery's default exchange in the virtual host of the address. */
export async function tapEvents(url: string): Promise<EventTap> {
  const { channel, close } = await openBrokerChannel(url);
  await channel.assertExchange('celeryev', 'topic', { durable: true, autoDelete: false });
  const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
  await channel.bindQueue(queue, 'celeryev', '#');
  const counts = new Map<string, number>();
  await channel.consume(
    queue,
    (message) => {
      const body: unknown = JSON.parse(message?.content.toString() ?? '[]');
      for (const type of [body].flat().map(typeOf)) counts.set(type, (counts.get(type) ?? 0) + 1);
    },
    { noAck: true },
  );
  return {
    counts: () => Object.fromEntries(counts),
    stop: close,
  };
}

function typeOf(event: unknown): string {
  return typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : '';
}
