/** Replies to questions over Redis, as workers send them. */
import type { Redis } from 'ioredis';

/** A message for a ticket, or a text that is none. */
export type Reply = string | { readonly ticket: string; readonly body: string };

/**
 * Answers a question with these messages, in this order.
 * @param question as it was published
 */
export async function replyTo(
  client: Redis,
  question: string,
  messagesFor: (ticket: string) => Promise<readonly Reply[]> | readonly Reply[],
): Promise<void> {
  const envelope = JSON.parse(question);
  const asked = JSON.parse(Buffer.from(envelope.body, 'base64').toString());
  const messages = await messagesFor(asked.ticket);
  const texts = messages.map((message) =>
    typeof message === 'string'
      ? message
      : JSON.stringify({
          ...envelope,
          headers: { ticket: message.ticket },
          body: Buffer.from(message.body).toString('base64'),
        }),
  );
  await client.lpush(`${asked.reply_to.routing_key}.${asked.reply_to.exchange}`, ...texts);
}
