/** A process that takes OTLP over gRPC and HTTP, and keeps nothing. It prints its ports as JSON, and ends with its input. */
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { respondGrpc } from '../otlp/send/grpc-receiver.ts';
import { listenOnLoopback } from '../otlp/send/loopback-server.ts';

const grpc = createHttp2Server().on('stream', (stream) => {
  stream.on('error', () => {});
  stream.resume().on('end', () => respondGrpc(stream, {}));
});
const http = createServer((request, response) => {
  request.resume().on('end', () => response.end());
});
const ports = {
  grpc: (await listenOnLoopback(grpc, {})).port,
  http: (await listenOnLoopback(http, {})).port,
};
process.stdout.write(`${JSON.stringify(ports)}\n`);
process.stdin.resume().on('end', () => process.exit(0));
