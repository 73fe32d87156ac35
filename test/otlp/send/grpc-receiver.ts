/**
 * An OTLP/gRPC backend in this process, on plain HTTP/2: records every request as received and gives any response,
 * including invalid ones. It listens on loopback only and checks nothing.
 */
import * as http2 from 'node:http2';
import type { TlsOptions } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { type LoopbackPlace, type LoopbackServer, listenOnLoopback } from './loopback-server.ts';

export interface GrpcRequest {
  readonly path: string;
  readonly headers: http2.IncomingHttpHeaders;
  /** The message, decompressed. */
  readonly body: Buffer;
}

export interface GrpcAnswer {
  /** gRPC's number; 0 if missing. */
  readonly status?: number;
  readonly message?: string;
  /** `google.rpc.Status`. */
  readonly details?: Uint8Array;
  /** The message of a success. */
  readonly response?: Uint8Array;
  /** Whether it claims to be compressed. */
  readonly isFlagged?: boolean;
}

type Answer = (stream: http2.ServerHttp2Stream, request: GrpcRequest) => void;

export interface GrpcReceiverOptions extends LoopbackPlace {
  readonly tls?: TlsOptions;
  /** An empty response if missing. */
  readonly answer?: Answer;
}

export interface GrpcReceiver extends LoopbackServer {
  readonly requests: readonly GrpcRequest[];
  answerWith(answer: Answer): void;
}

export async function startGrpcReceiver(options: GrpcReceiverOptions = {}): Promise<GrpcReceiver> {
  const requests: GrpcRequest[] = [];
  let answer: Answer = options.answer ?? ((stream) => respondGrpc(stream, {}));

  const server = options.tls === undefined ? http2.createServer() : http2.createSecureServer(options.tls);
  // Clients may disconnect at any time.
  server.on('sessionError', () => {});
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const request = { path: headers[':path'] ?? '', headers, body: unframe(Buffer.concat(chunks)) };
      requests.push(request);
      // The client may have given up.
      if (!stream.destroyed) answer(stream, request);
    });
  });
  return {
    ...(await listenOnLoopback(server, options)),
    requests,
    answerWith(next) {
      answer = next;
    },
  };
}

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' };

export function respondGrpc(stream: http2.ServerHttp2Stream, answer: GrpcAnswer): void {
  const { status = 0, message = '', details, response = new Uint8Array(), isFlagged = false } = answer;
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () =>
    stream.sendTrailers({
      'grpc-status': String(status),
      'grpc-message': encodeURI(message),
      ...(details === undefined
        ? {}
        : { 'grpc-status-details-bin': Buffer.from(details).toString('base64') }),
    }),
  );
  if (status === 0) stream.end(frame(response, isFlagged));
  else stream.end();
}

/** Compressed or not, its length, the message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
function frame(message: Uint8Array, isFlagged: boolean): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(isFlagged ? 1 : 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function unframe(framed: Buffer): Buffer {
  const message = framed.subarray(5);
  return framed[0] === 1 ? gunzipSync(message) : message;
}
