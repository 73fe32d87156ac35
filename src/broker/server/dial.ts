/** Opens a socket to a server, with or without TLS. It sends nothing. */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

interface Place {
  readonly host: string;
  readonly port: number;
}

/** @param tls the options of TLS; undefined: no TLS @param onOpen called once data can be sent */
export function dial({ host, port }: Place, tls: ConnectionOptions | undefined, onOpen: () => void): Socket {
  return tls === undefined
    ? connectPlain({ host, port }, onOpen)
    : connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...tls }, onOpen);
}
