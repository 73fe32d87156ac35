/**
 * The format of the address where a server listens: a port, on loopback unless a host is given. It resolves no names, and opens
 * nothing.
 */
import { type Format, format } from './formats.ts';

export interface ListenAddress {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
}

export function shownAddress({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** @param host a name, or an address, IPv6 with or without brackets */
export function isLoopback(host: string): boolean {
  return /^(?:(?:[\w-]{1,63}\.){0,8}localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/iu.test(host);
}

/** The default host, which only programs on the same machine can reach. */
const LOOPBACK = '127.0.0.1';
const ADDRESS = /^(?:(?:\[(?<bracketed>[^\]]*)\]|(?<bare>[\w.-]+)):)?(?<port>\d{1,5})$/u;

export const listenAddress: Format<ListenAddress> = format(
  'PORT, or HOST:PORT; a port alone is on 127.0.0.1, and 0.0.0.0:PORT on all addresses',
  (text) => {
    const { bracketed, bare, port } = ADDRESS.exec(text)?.groups ?? {};
    if (port === undefined || Number(port) > 65_535) return undefined;
    if (bracketed !== undefined && !URL.canParse(`http://[${bracketed}]`)) return undefined;
    return { ok: true, value: { host: bracketed ?? bare ?? LOOPBACK, port: Number(port) } };
  },
  { numbers: { type: 'integer', minimum: 0, maximum: 65_535 } },
);
