/**
 * Opens and closes connections to an AMQP broker with amqplib. Aborting the signal that a connection was opened with
 * destroys its socket, whatever state it is in.
 */
import { Readable } from 'node:stream';
import { type ChannelModel, connect, credentials } from 'amqplib';
import { VERSION } from '../../self/version.ts';
import { reasonOf } from '../../text/errors.ts';
import { pause } from '../../timing/pause.ts';
import { Refusal } from '../server/refusal.ts';
import { tlsOptions } from '../server/tls-files.ts';
import { paceReading, type ReadingObserver } from '../session/paced-reading.ts';
import { type DeliveryOptions, readDeliveries } from './deliveries.ts';
import { DROPPED } from './failure.ts';
import { opened } from './opening.ts';
import { type Login, refusalOf } from './opening-refusal.ts';
import type { AmqpSettings } from './settings.ts';
import type { AmqpUrl, LoginMethod } from './url.ts';

/** The peer may no longer respond: closing waits at most this long for its reply. */
const CLOSE_TIMEOUT_MS = 1000;
/** The largest frame that we accept. RabbitMQ’s default is an eighth of this; amqplib’s own limit would be 64 MiB. */
const FRAME_BYTES_MAX = 1024 * 1024;
/** How long a connection is idle before TCP checks it: detects dead peers where heartbeats are disabled. */
const KEEP_ALIVE_DELAY_MS = 30_000;

/** Shown in the broker’s list of connections. `information` would be amqplib’s own text; undefined suppresses it. */
const CLIENT_PROPERTIES = {
  product: 'celery-otel',
  connection_name: 'celery-otel',
  version: VERSION,
  information: undefined,
};

type LoginSettings = Pick<AmqpSettings, 'heartbeatS' | 'loginMethod'>;

/** The login of each SASL mechanism. With EXTERNAL, the client certificate identifies us. */
const LOGINS: Readonly<Record<LoginMethod, (user: string, password: string) => Login>> = {
  PLAIN: credentials.plain,
  AMQPLAIN: credentials.amqplain,
  EXTERNAL: () => credentials.external(),
};

/**
 * Connects by TCP, TLS and the AMQP handshake. Rejects with amqplib's error, or with a Refusal, which has the broker’s own
 * text if the broker refuses the virtual host.
 */
export async function connectTo(
  url: AmqpUrl,
  { heartbeatS, loginMethod }: LoginSettings,
  signal: AbortSignal,
): Promise<ChannelModel> {
  const { username, password } = url;
  const login = LOGINS[url.loginMethod ?? loginMethod ?? 'PLAIN'](username, password);
  const tls = url.tls && (await tlsOptions(url.tls));
  const socketOptions = {
    credentials: login,
    ...tls,
    signal,
    noDelay: true,
    keepAlive: true,
    keepAliveDelay: KEEP_ALIVE_DELAY_MS,
    clientProperties: CLIENT_PROPERTIES,
  };
  const place = {
    protocol: url.scheme,
    hostname: url.host,
    port: url.port,
    // amqplib percent-decodes the virtual host even here.
    vhost: url.vhost.replaceAll('%', '%25'),
    heartbeat: url.heartbeatS ?? heartbeatS,
    maxFrameSize: FRAME_BYTES_MAX,
  };
  const opening = opened(tls !== undefined, () => connect(place, socketOptions));
  return await opening.catch(async (error: unknown) => {
    const words = DROPPED.test(reasonOf(error)) ? await refusalOf(url, login, tls, signal) : undefined;
    throw words === undefined ? error : new Refusal(words, { cause: error });
  });
}

/**
 * Opens a connection and reads its deliveries. Rejects as `connectTo` does.
 * @param bodyBytesMax larger bodies are dropped
 * @param observer follows what arrives from the broker
 * @param onDelivery gets the messages for the consumer with our tag; amqplib does not see them
 */
export async function openConnection(
  url: AmqpUrl,
  { bodyBytesMax, ...login }: LoginSettings & { readonly bodyBytesMax: number },
  signal: AbortSignal,
  observer: ReadingObserver,
  onDelivery: DeliveryOptions['onDelivery'],
): Promise<ChannelModel> {
  const model = await connectTo(url, login, signal);
  // The types of amqplib lack `stream`, but amqplib reads the frames from it.
  const { connection } = model;
  if (!('stream' in connection && connection.stream instanceof Readable)) {
    throw new Error('amqplib does not read from the stream of its connection');
  }
  const hasTime = paceReading(connection.stream, observer);
  readDeliveries(connection, { stream: connection.stream, bodyBytesMax, hasTime, onDelivery });
  return model;
}

/** Closes the connection after the broker’s reply, or after a timeout. Never rejects. */
export async function closeConnection(model: ChannelModel): Promise<void> {
  const closed = new AbortController();
  // `close` rejects if the connection is already closed, which is fine.
  const done = (): void => closed.abort();
  model.close().then(done, done);
  await pause(CLOSE_TIMEOUT_MS, closed.signal);
}
