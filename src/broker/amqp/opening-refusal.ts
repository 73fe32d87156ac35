/**
 * Finds out why RabbitMQ refuses a virtual host: amqplib drops the broker’s text if the connection is closed while it
 * opens. This file opens a second connection only to receive the refusal; if the broker accepts it, it is closed unused.
 */
import type { ConnectionOptions } from 'node:tls';
import { dial } from '../server/dial.ts';
import { endOfFrame, OFFSET, TYPE } from './frames.ts';
import type { AmqpUrl } from './url.ts';

/** amqplib’s login; `response()` returns the password as it is sent. */
export interface Login {
  readonly mechanism: string;
  response(): Buffer;
}

/** The methods of the handshake: class and method (AMQP 0-9-1, 1.4) as one number. */
const START = 0x00_0a_00_0a;
const START_OK = 0x00_0a_00_0b;
const TUNE = 0x00_0a_00_1e;
const TUNE_OK = 0x00_0a_00_1f;
const OPEN = 0x00_0a_00_28;
const CLOSE = 0x00_0a_00_32;
const CLOSE_OK = 0x00_0a_00_33;
const HEADER = Buffer.from('AMQP\0\0\u0009\u0001', 'latin1');
const EMPTY_TABLE = Buffer.alloc(4);
/** The most bytes that the broker may send before we give up. */
const BYTES_MAX = 65_536;
const TIMEOUT_MS = 5000;

/** @returns the text of the refusal; undefined if the broker does not refuse this time, or does not reply. Never rejects */
export function refusalOf(
  url: AmqpUrl,
  login: Login,
  tls: ConnectionOptions | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = dial(url, tls, begin);
    let rest: Buffer = Buffer.alloc(0);
    const settle = (reason?: string): void => {
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(reason);
    };
    function giveUp(): void {
      settle();
    }
    function begin(): void {
      socket.write(HEADER);
    }
    socket.setTimeout(TIMEOUT_MS, giveUp);
    socket.on('error', giveUp).on('close', giveUp);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = endOfFrame(rest, 0); end > 0; end = endOfFrame(rest, 0)) {
        const payload = rest.subarray(OFFSET.payload, end - 1);
        rest = rest.subarray(end);
        const method = payload.length < 4 ? 0 : payload.readUInt32BE(0);
        const body = payload.subarray(4);
        if (method === START) socket.write(startOk(login));
        else if (method === TUNE) socket.write(Buffer.concat([frame(TUNE_OK, body), open(url.vhost)]));
        else {
          if (method === CLOSE) socket.write(frame(CLOSE_OK));
          settle(method === CLOSE ? reasonIn(body) : undefined);
        }
      }
      if (rest.length > BYTES_MAX) giveUp();
    });
  });
}

function startOk({ mechanism, response }: Login): Buffer {
  const secret = response();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(secret.length);
  return frame(START_OK, EMPTY_TABLE, shortText(mechanism), length, secret, shortText('en_US'));
}

/** The frame of Connection.Open, with its reserved fields. */
function open(vhost: string): Buffer {
  return frame(OPEN, shortText(vhost), shortText(''), Buffer.alloc(1));
}

/** The broker’s text in a Connection.Close. @param body a reply code, then the text */
function reasonIn(body: Buffer): string | undefined {
  if (body.length < 3) return undefined;
  return body.subarray(3, 3 + body.readUInt8(2)).toString();
}

function shortText(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 255);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function frame(method: number, ...parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(OFFSET.payload + 4);
  const body = Buffer.concat(parts);
  head.writeUInt8(TYPE.method);
  head.writeUInt32BE(body.length + 4, OFFSET.size);
  head.writeUInt32BE(method, OFFSET.payload);
  return Buffer.concat([head, body, Buffer.from([0xce])]);
}
