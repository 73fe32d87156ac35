/** A channel to the broker for a test, which may outlive the broker. */
import { type Channel, connect } from 'amqplib';

export interface BrokerChannel {
  readonly channel: Channel;
  connected(): boolean;
  /** Does nothing if the connection is gone. */
  close(): Promise<void>;
}

export async function openBrokerChannel(url: string): Promise<BrokerChannel> {
  const connection = await connect(url);
  let connected = true;
  // The broker may also stop first, after a failed test.
  connection
    .on('error', () => undefined)
    .on('close', () => {
      connected = false;
    });
  return {
    channel: await connection.createChannel(),
    connected: () => connected,
    async close() {
      if (connected) await connection.close();
    },
  };
}
