/**
 * An OTLP/HTTP backend in this process: records every request as received and gives scripted responses. It listens on
 * loopback only and checks nothing.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { TlsOptions } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { type LoopbackPlace, type LoopbackServer, listenOnLoopback } from './loopback-server.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  /** Decompressed. */
  readonly body: Buffer;
}

export interface HttpReceiverOptions extends Omit<LoopbackPlace, 'path'> {
  readonly tls?: TlsOptions;
  /** Called once a request is complete; by default an empty 200. */
  readonly answer?: (response: http.ServerResponse, request: HttpRequest) => void;
}

export interface HttpReceiver extends LoopbackServer {
  readonly requests: readonly HttpRequest[];
  answerWith(answer: NonNullable<HttpReceiverOptions['answer']>): void;
}

const succeed: NonNullable<HttpReceiverOptions['answer']> = (response) => response.end();

export async function startHttpReceiver(options: HttpReceiverOptions = {}): Promise<HttpReceiver> {
  const requests: HttpRequest[] = [];
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
    // Clients may disconnect while sending.
    receive(request, response).catch(() => response.destroy());
  };
  const server =
    options.tls === undefined ? http.createServer(listener) : https.createServer(options.tls, listener);
  return {
    ...(await listenOnLoopback(server, options)),
    requests,
    answerWith(next) {
      answer = next;
    },
  };
}
