/** A server that replies like a Redis server with one worker does, and at chosen commands with exactly the bytes that a test gives it. */
import { createServer, type Socket } from 'node:net';
import type { Ending } from '../../e2e/bridge-process.ts';
import { listenOnLoopback } from '../../otlp/send/loopback-server.ts';

export interface ScriptedRedis {
  readonly port: number;
  readonly url: string;
  /** Sends bytes to all subscribers. */
  publish(bytes: Buffer | string): void;
}

/** What is sent instead of the answer; undefined: the answer. */
export type Instead = (
  command: string,
  args: readonly string[],
  answer: string,
) => Buffer | string | undefined;

/** How a script that takes replies is called here, beside that which asks. */
export const TAKING = 'EVAL of RPOP';

const SEPARATOR = '\x06\x16';
const WORKER = `${SEPARATOR}${SEPARATOR}w1@host.celery.pidbox`;

export async function startScriptedRedis(
  t: Ending,
  instead: Instead = () => undefined,
): Promise<ScriptedRedis> {
  const subscribers = new Set<Socket>();
  let port = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined).on('close', () => subscribers.delete(socket));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (let found = commandIn(text); found !== undefined; found = commandIn(text)) {
        text = text.slice(found.length);
        const [name = '', ...args] = found.words;
        const upper = name.toUpperCase();
        const command = upper === 'EVAL' && args[0]?.includes("'RPOP'") === true ? TAKING : upper;
        if (command === 'PSUBSCRIBE') subscribers.add(socket);
        const reply = answer(command, args, port, subscribers.has(socket));
        socket.write(instead(command, args, reply) ?? reply);
      }
    });
  });
  const listening = await listenOnLoopback(server, {});
  port = listening.port;
  t.after(listening.stop);
  return {
    port,
    url: `redis://127.0.0.1:${port}/0`,
    publish(bytes) {
      for (const socket of subscribers) socket.write(bytes);
    },
  };
}

/** The command at the beginning of a text, and how long it is there. */
function commandIn(text: string): { readonly words: readonly string[]; readonly length: number } | undefined {
  const head = /^\*(\d+)\r\n/u.exec(text);
  if (head === null) return undefined;
  const words: string[] = [];
  let at = head[0].length;
  for (let word = 0; word < Number(head[1]); word += 1) {
    const size = /^\$(\d+)\r\n/u.exec(text.slice(at, at + 20));
    if (size === null) return undefined;
    const from = at + size[0].length;
    at = from + Number(size[1]) + 2;
    if (text.length < at) return undefined;
    words.push(text.slice(from, at - 2));
  }
  return { words, length: at };
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

export function list(...items: readonly string[]): string {
  return `*${items.length}\r\n${items.join('')}`;
}

/** A message, as kombu publishes it. */
export function published(channel: string, body: string): string {
  const envelope = {
    body: Buffer.from(body).toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { hostname: 'w1@host' },
    properties: {
      body_encoding: 'base64',
      delivery_info: { exchange: 'celeryev', routing_key: 'task.sent' },
      delivery_tag: '1',
    },
  };
  return list(bulk('pmessage'), bulk('/0.celeryev/*'), bulk(channel), bulk(JSON.stringify(envelope)));
}

function answer(command: string, args: readonly string[], port: number, isSubscriber: boolean): string {
  switch (command) {
    case 'PSUBSCRIBE':
      return args.map((pattern, at) => list(bulk('psubscribe'), bulk(pattern), `:${at + 1}\r\n`)).join('');
    case 'PING':
      return isSubscriber ? list(bulk('pong'), bulk('')) : '+PONG\r\n';
    case 'SENTINEL':
      return list(bulk('127.0.0.1'), bulk(String(port)));
    case 'SSCAN':
      return list(bulk('0'), list(bulk(WORKER)));
    case 'SCAN':
      return list(bulk('0'), list());
    case 'SMEMBERS':
    case 'ZRANGE':
      return list();
    case 'LLEN':
    case 'HLEN':
    case 'SREM':
    case 'DEL':
      return ':0\r\n';
    case 'EVAL':
      return list(bulk('asked'), ':1\r\n', list(bulk(WORKER)));
    case TAKING:
      return list();
    case 'INFO':
      return bulk('cluster_enabled:0\r\n');
    case 'CLIENT':
      return args[0]?.toUpperCase() === 'LIST' ? bulk('') : '+OK\r\n';
    default:
      return '+OK\r\n';
  }
}
