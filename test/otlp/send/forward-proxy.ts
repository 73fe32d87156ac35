/** An HTTP proxy in this process (RFC 9110, 9.3.6): tunnels, and requests with a whole URL, for one user. It listens on loopback only. */
import * as http from 'node:http';
import * as net from 'node:net';
import { listenOnLoopback } from './loopback-server.ts';

export const USER = 'exporter:p%40ss';
const EXPECTED = `Basic ${Buffer.from('exporter:p@ss').toString('base64')}`;

/** With the targets of all requests, in order. */
export async function startForwardProxy() {
  const targets: string[] = [];
  const isKnown = ({ headers }: http.IncomingMessage) => headers['proxy-authorization'] === EXPECTED;
  const server = http.createServer((request, response) => {
    if (!isKnown(request)) return void response.writeHead(407).end();
    targets.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const { hostname, port, pathname } = new URL(request.url ?? '');
    const onward = http.request({ hostname, port, path: pathname, method: request.method, headers });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  });
  server.on('connect', (request, client, head: Buffer) => {
    if (!isKnown(request)) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    targets.push(`CONNECT ${request.url ?? ''}`);
    const { hostname, port } = new URL(`http://${request.url ?? ''}`);
    const onward = net.connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      client.pipe(onward).pipe(client);
    });
    const end = () => {
      client.destroy();
      onward.destroy();
    };
    for (const socket of [client, onward]) socket.on('error', end).on('close', end);
  });
  return { ...(await listenOnLoopback(server, {})), targets };
}
