/**
 * One gRPC channel of its own to one backend, with what grpc-js has no option for: its sockets end with it. Closed
 * during a TLS handshake with a peer that is silent, a channel would keep the socket, and with it the process, for as
 * long as the peer does. It knows nothing of OTLP.
 */
import {
  ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientUnaryCall,
  type Metadata,
  type ServiceError,
} from '@grpc/grpc-js';

type Outcome =
  | { readonly ok: true; readonly response: Buffer }
  | { readonly ok: false; readonly error: ServiceError };

export interface GrpcConnection {
  /** @param deadlineMs since the epoch */
  request(method: string, body: Buffer, metadata: Metadata, deadlineMs: number): Promise<Outcome>;
  /** Whether no request is under way. */
  isIdle(): boolean;
  /** What is under way ends with CANCELLED. */
  close(): void;
}

/** Connects with the first request. */
export function openGrpcConnection(
  target: string,
  credentials: ChannelCredentials,
  options: ClientOptions,
): GrpcConnection {
  const tracked = new TrackedCredentials(credentials);
  const client = new Client(target, tracked, options);
  const underWay = new Set<ClientUnaryCall>();
  return {
    request(method, body, metadata, deadlineMs) {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      const settings = { deadline: deadlineMs };
      const call = client.makeUnaryRequest(
        method,
        same,
        same,
        body,
        metadata,
        settings,
        (error, response) => {
          underWay.delete(call);
          resolve(
            error === null ? { ok: true, response: response ?? Buffer.alloc(0) } : { ok: false, error },
          );
        },
      );
      underWay.add(call);
      return promise;
    },
    isIdle: () => underWay.size === 0,
    close() {
      for (const call of underWay) call.cancel();
      client.close();
      tracked.closeSockets();
    },
  };
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Socket = Parameters<Connector['connect']>[0];

/** Credentials that are given every socket of a channel before anything else is done with it. */
class TrackedCredentials extends ChannelCredentials {
  readonly #inner: ChannelCredentials;
  readonly #sockets = new Set<Socket>();
  #closed = false;

  constructor(inner: ChannelCredentials) {
    super();
    this.#inner = inner;
  }

  closeSockets(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  override _isSecure(): boolean {
    return this.#inner._isSecure();
  }

  /** Never: channels with equal credentials share a connection, and one that is shared cannot be left. */
  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    ...given: Parameters<ChannelCredentials['_createSecureConnector']>
  ): Connector {
    const connector = this.#inner._createSecureConnector(...given);
    return {
      connect: (socket) => {
        this.#track(socket);
        return connector.connect(socket);
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // It came about while the channel was being closed.
    if (this.#closed) socket.destroy();
  }
}
