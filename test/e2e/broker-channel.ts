/** A channel to the broker that a test has beside the bridge, and whose broker may go first. */
import { type Channel, connect } from 'amqplib';

export interface BrokerChannel {
  readonly channel: Channel;
  connected(): boolean;
  /** Does nothing where the connection is gone already. */
  close(): Promise<void>;
}

export async function openBrokerChannel(url: string): Promise<BrokerChannel> {
  const connection = await connect(url);
  let connected = true;
  // Also where the broker goes first, at the end of a test that failed.
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
