/** Reads the TLS files of a broker address for each connection. It does not check their content. */
import { readFile } from 'node:fs/promises';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { reasonOf } from '../../text/errors.ts';
import type { BrokerTls } from './address.ts';
import { Refusal } from './refusal.ts';

/** The TLS settings as options of Node’s `tls.connect`. @throws Refusal if a file cannot be read; the message names its key */
export async function tlsOptions(tls: BrokerTls) {
  return {
    rejectUnauthorized: tls.verify,
    checkServerIdentity: tls.checkHost ? identityFault : () => undefined,
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.caFile === undefined ? {} : { ca: await readPem('ssl_ca_certs', tls.caFile) }),
    ...(tls.certFile === undefined ? {} : { cert: await readPem('ssl_certfile', tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { key: await readPem('ssl_keyfile', tls.keyFile) }),
  };
}

/** Like Node’s check of the host name, but accepts a certificate for `localhost`, too, at 127.0.0.1, by which it is replaced. */
function identityFault(host: string, certificate: PeerCertificate): Error | undefined {
  const fault = checkServerIdentity(host, certificate);
  return host === '127.0.0.1' && checkServerIdentity('localhost', certificate) === undefined
    ? undefined
    : fault;
}

async function readPem(key: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Refusal(`cannot read ${key}: ${reasonOf(error)}`, { cause: error });
  }
}
