/**
 * Opens and closes connections to an AMQP broker with amqplib. Aborting the signal that a connection was opened with
 * destroys its socket, whatever state it is in.
 */
import { readFile } from 'node:fs/promises';
import { connect as connectSocket } from 'node:net';
import { Readable } from 'node:stream';
import { type ChannelModel, connect } from 'amqplib';
import { reasonOf } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import type { AmqpUrl, BrokerTls } from '../broker-url.ts';
import { paceReading, type ReadingObserver } from '../paced-reading.ts';
import { pause } from '../pause.ts';
import { type DeliveryOptions, readDeliveries } from './deliveries.ts';
import { Refusal } from './failure.ts';

/** The peer may be gone: a close waits no longer than this for its reply. */
const CLOSE_TIMEOUT_MS = 1000;
const PROBE_TIMEOUT_MS = 1000;
/** Detects dead peers where heartbeats are disabled. */
const KEEP_ALIVE_DELAY_MS = 30_000;

/** Shown in the broker’s list of connections. `information` is amqplib’s own text; undefined is not sent. */
const CLIENT_PROPERTIES = {
  product: 'celery-otel',
  connection_name: 'celery-otel',
  version: VERSION,
  information: undefined,
};

/**
 * TCP, TLS, and the AMQP handshake. Rejects with amqplib's error, or a Refusal.
 * @param bodyBytesMax larger bodies are dropped
 * @param observer follows what arrives from the broker
 * @param onDelivery gets what is delivered to the consumer with our tag; amqplib does not see it
 */
export async function openConnection(
  url: AmqpUrl,
  { heartbeatS, bodyBytesMax }: { readonly heartbeatS: number; readonly bodyBytesMax: number },
  signal: AbortSignal,
  observer: ReadingObserver,
  onDelivery: DeliveryOptions['onDelivery'],
): Promise<ChannelModel> {
  const socketOptions = {
    ...(url.tls === undefined ? {} : await tlsOptions(url.tls)),
    signal,
    noDelay: true,
    keepAlive: true,
    keepAliveDelay: KEEP_ALIVE_DELAY_MS,
    clientProperties: CLIENT_PROPERTIES,
  };
  const model = await connect(
    {
      protocol: url.scheme,
      hostname: url.host,
      port: url.port,
      username: url.username,
      password: url.password,
      // amqplib percent-decodes the virtual host even here.
      vhost: url.vhost.replaceAll('%', '%25'),
      heartbeat: url.heartbeatS ?? heartbeatS,
    },
    socketOptions,
  );
  // Its types do not say so, but this is what amqplib reads the frames from.
  const { connection } = model;
  if (!('stream' in connection && connection.stream instanceof Readable)) {
    throw new Error('amqplib does not read from the stream of its connection');
  }
  const hasTime = paceReading(connection.stream, observer);
  readDeliveries(connection, { stream: connection.stream, bodyBytesMax, hasTime, onDelivery });
  return model;
}

/** Closes the connection with the broker’s reply, or without it after a time-out. Never rejects. */
export async function closeConnection(model: ChannelModel): Promise<void> {
  const closed = new AbortController();
  // It rejects if the connection is already closed, which is fine.
  const done = (): void => closed.abort();
  model.close().then(done, done);
  await pause(CLOSE_TIMEOUT_MS, closed.signal);
}

/** Opens a TCP connection and drops it; there is no handshake, so the broker logs nothing. */
export function isListening({ host, port }: AmqpUrl, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ host, port });
    const settle = (listening: boolean): void => {
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(listening);
    };
    const giveUp = (): void => settle(false);
    socket.setTimeout(PROBE_TIMEOUT_MS, giveUp);
    socket.once('connect', () => settle(true));
    socket.once('error', giveUp);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
  });
}

async function tlsOptions(tls: BrokerTls): Promise<object> {
  return {
    rejectUnauthorized: tls.verify,
    ...(tls.caFile === undefined ? {} : { ca: await readPem('ssl_ca_certs', tls.caFile) }),
    ...(tls.certFile === undefined ? {} : { cert: await readPem('ssl_certfile', tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { key: await readPem('ssl_keyfile', tls.keyFile) }),
  };
}

async function readPem(key: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Refusal(`cannot read ${key}: ${reasonOf(error)}`, { cause: error });
  }
}
