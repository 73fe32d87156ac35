/** One gRPC channel to one backend. Closing the channel closes its sockets. It knows nothing about OTLP. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientUnaryCall,
  type Metadata,
  type ServiceError,
} from '@grpc/grpc-js';

export type GrpcConnection = ReturnType<typeof openGrpcConnection>;

/**
 * Connects with the first request.
 * @param credentials for this connection only
 */
export function openGrpcConnection(
  target: string,
  credentials: ChannelCredentials,
  options: ClientOptions,
  tunnel: Tunnel,
) {
  const destroySockets = trackSockets(credentials);
  const endTunnels = tunnel.proxied ? boundTunnels(options, tunnel.timeoutMs) : () => {};
  // By default channels share connections, and a shared connection cannot be closed.
  const client = new Client(target, credentials, { ...options, 'grpc.use_local_subchannel_pool': 1 });
  const underWay = new Set<ClientUnaryCall>();
  return {
    /** @param deadline epoch ms. @returns the response, or the error */
    request(method: string, body: Buffer, metadata: Metadata, deadline: number) {
      const { promise, resolve } = Promise.withResolvers<Buffer | ServiceError>();
      const end = (error: ServiceError | null, response: Buffer = Buffer.alloc(0)): void => {
        underWay.delete(call);
        resolve(error ?? response);
      };
      const call = client.makeUnaryRequest(method, same, same, body, metadata, { deadline }, end);
      underWay.add(call);
      return promise;
    },
    /** Whether no request is in progress. */
    isIdle: () => underWay.size === 0,
    /** Requests in progress end with CANCELLED. */
    close(): void {
      for (const call of underWay) call.cancel();
      client.close();
      endTunnels();
      destroySockets();
    },
  };
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

interface Tunnel {
  readonly proxied: boolean;
  /** Time for the proxy to respond, ms. */
  readonly timeoutMs: number;
}

/**
 * Applies a timeout to the CONNECT requests of this channel. A proxy that never responds would otherwise keep a socket for each
 * attempt, because grpc-js waits without end and has no option for a timeout.
 * @returns a function that ends pending attempts and stops watching for new ones
 */
function boundTunnels(options: ClientOptions, timeoutMs: number): () => void {
  const waiting = new Set<ClientRequest>();
  const path = String(options['grpc.default_authority']);
  const begun = (message: unknown): void => {
    const request =
      typeof message === 'object' && message !== null && 'request' in message ? message.request : undefined;
    if (!(request instanceof ClientRequest) || request.method !== 'CONNECT' || request.path !== path) return;
    waiting.add(request);
    const timer = setTimeout(() => request.destroy(new Error('the proxy does not answer')), timeoutMs);
    const over = (): void => {
      clearTimeout(timer);
      waiting.delete(request);
    };
    request.prependOnceListener('connect', over);
    request.prependOnceListener('close', over);
  };
  subscribe(TUNNEL_BEGINS, begun);
  return () => {
    unsubscribe(TUNNEL_BEGINS, begun);
    for (const request of waiting) request.destroy();
  };
}

/** A diagnostics channel of Node’s `http` (diagnostics_channel, “Built-in Channels”). */
const TUNNEL_BEGINS = 'http.client.request.start';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Socket = Parameters<Connector['connect']>[0];

/**
 * Records each socket before its TLS handshake. If a channel is closed during a handshake with a silent peer, grpc-js leaves the
 * socket open, which keeps the process alive. It has no option to prevent this.
 * @returns a function that destroys all sockets, and any that connect later
 */
function trackSockets(credentials: ChannelCredentials): () => void {
  const sockets = new Set<Socket>();
  let closed = false;
  const createConnector = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...given) => {
    const connector = createConnector(...given);
    const connect = connector.connect.bind(connector);
    connector.connect = (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      if (closed) socket.destroy();
      return connect(socket);
    };
    return connector;
  };
  return () => {
    closed = true;
    for (const socket of sockets) socket.destroy();
  };
}
