/**
 * A backend of OTLP over HTTP inside this process: keeps every request as it came and answers as it is told. It listens
 * on loopback only, and judges nothing.
 */
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TlsOptions } from 'node:tls';
import { gunzipSync } from 'node:zlib';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  /** Decompressed. */
  readonly body: Buffer;
}

export interface HttpReceiverOptions {
  /** 0: a free one. */
  readonly port?: number;
  /** Another address of loopback than 127.0.0.1. */
  readonly host?: string;
  readonly tls?: TlsOptions;
  /** Called once a request is there as a whole; an empty 200 otherwise. */
  readonly answer?: (response: http.ServerResponse, request: HttpRequest) => void;
}

export interface HttpReceiver {
  readonly port: number;
  readonly requests: readonly HttpRequest[];
  /** Connections that are open now. */
  connections(): number;
  /** Connections that were ever made. */
  accepted(): number;
  answerWith(answer: NonNullable<HttpReceiverOptions['answer']>): void;
  /** Closes all connections, whatever is under way. */
  stop(): Promise<void>;
}

const succeed: NonNullable<HttpReceiverOptions['answer']> = (response) => response.end();

export async function startHttpReceiver(options: HttpReceiverOptions = {}): Promise<HttpReceiver> {
  const requests: HttpRequest[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  let answer = options.answer ?? succeed;

  async function receive(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = await buffer(request);
    const received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body,
    };
    requests.push(received);
    answer(response, received);
  }

  const listener: http.RequestListener = (request, response) => {
    // A client that goes away while it sends is none of the receiver's business.
    receive(request, response).catch(() => response.destroy());
  };
  const server =
    options.tls === undefined ? http.createServer(listener) : https.createServer(options.tls, listener);
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  return {
    port: portOf(server.address()),
    requests,
    connections: () => sockets.size,
    accepted: () => accepted,
    answerWith(next) {
      answer = next;
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('it does not listen on a port');
  return address.port;
}
