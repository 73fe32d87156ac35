/**
 * Reads Celery's settings of a service's broker that are maps: `broker_use_ssl` and the TLS of sentinels. The broker's
 * addresses decide how they are read, because the libraries for AMQP and Redis use different names.
 */
import { type BrokerTls, type BrokerUrls, parseBrokerUrls } from '../../broker/broker-url.ts';
import { kindOf, kindsOf } from '../../broker/kinds.ts';
import { unusedWith } from '../option-rules.ts';
import { TRANSPORT_OPTIONS } from '../options.ts';
import { TLS_READERS, VERIFIED } from './broker-tls.ts';
import type { FileValue } from './file-value.ts';
import { readTransportOptions } from './transport-options.ts';

/**
 * The broker of a service: its addresses including `broker_use_ssl`, the TLS settings, and the line that set them. The
 * addresses are undefined if they are missing or invalid.
 * @param addresses the text of `broker_url`, if it is valid
 */
export function readBroker(service: Pick<FileValue, 'get'>, addresses: string | undefined) {
  const parsed = addresses === undefined ? undefined : parseBrokerUrls(addresses);
  const urls = parsed?.ok === true ? parsed.urls : undefined;
  const sentinelTls = readTransportOptions(service.get(TRANSPORT_OPTIONS), urls);
  const ssl = service.get('broker_use_ssl');
  if (ssl === undefined || ssl.isNull) return { urls, tls: undefined, sentinelTls, source: undefined };
  const tls = useSsl(ssl, urls);
  const withTls = tls && urlsWithTls(ssl, tls, addresses ?? '');
  return { urls: withTls ?? urls, tls, sentinelTls, source: ssl.source };
}

/** As in kombu, an empty map means no TLS. */
function useSsl(ssl: FileValue, urls: BrokerUrls | undefined): BrokerTls | undefined {
  const unused = unusedWith(urls, 'any');
  if (unused !== undefined) return ssl.complain(unused);
  if (ssl.value === false) return undefined;
  if (ssl.value === true) {
    const plain = (urls ?? []).filter((url) => url.tls === undefined);
    const [instead] = plain.flatMap((url) => kindOf(url).useSsl?.insteadOfTrue ?? []);
    return instead === undefined ? VERIFIED : ssl.complain(instead);
  }
  const isEmpty = ssl.entries().length === 0;
  const [kind, other] = kindsOf(urls ?? []);
  if (kind !== undefined && other !== undefined && !isEmpty) {
    return ssl.complain(
      `no map with both ${kind.protocol} and ${other.protocol} in broker_url, because its keys differ; use ssl_ keys there`,
    );
  }
  const byPrefix = ssl.entries().some(([key]) => key.startsWith('ssl_')) ? 'redis-py' : 'py-amqp';
  const tls = TLS_READERS[kind?.useSsl?.keys ?? byPrefix].read(ssl);
  return isEmpty ? undefined : tls;
}

/**
 * The addresses with `broker_use_ssl`. Reports a map that applies to no address, because the user would not expect its
 * files and checks to be ignored. `true` is accepted, since an address with its own `ssl_*` keys uses TLS anyway.
 */
function urlsWithTls(ssl: FileValue, tls: BrokerTls, addresses: string): BrokerUrls | undefined {
  const parsed = parseBrokerUrls(addresses, tls);
  if (!parsed.ok) return undefined;
  const { urls } = parsed;
  if (ssl.value === true || urls.some((url) => url.tls === tls)) return urls;
  const [because] = urls.flatMap((url) => kindOf(url).useSsl?.without?.[url.scheme] ?? []);
  return ssl.complain(
    `no map: ${because ?? 'every address of broker_url has ssl_ keys of its own, which take precedence'}`,
  );
}
