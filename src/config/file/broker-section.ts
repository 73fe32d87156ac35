/**
 * Celery's broker settings that only a configuration file can have: a list of addresses, `broker_use_ssl` and
 * `broker_transport_options`.
 */
import {
  type BrokerTls,
  type BrokerUrls,
  parseBrokerUrls,
  VERIFY_BY_CERT_REQS,
} from '../../broker/broker-url.ts';
import { type Format, oneOf } from '../format/formats.ts';
import { certificateFile, keyFile } from '../format/pem-file.ts';
import { isRecorded, NO_BROKER } from '../option-rules.ts';
import type { FileValue } from './file-value.ts';

/** Further arguments of Python's `ssl.wrap_socket`, none of which is supported. */
const OTHER_KEYS = /^(?:server_hostname|ciphers|ssl_version|tls_(?:minimum|maximum)_version|context)$/;

/** The keys of `broker_use_ssl`. */
export const BROKER_SSL = {
  ca_certs: certificateFile,
  certfile: certificateFile,
  keyfile: keyFile,
  cert_reqs: oneOf([...VERIFY_BY_CERT_REQS.keys()]),
} as const;

/** The text of `broker_url`, which may also be a list, as in Celery; undefined if a mistake was reported. */
export function readBrokerUrl(url: FileValue, one: Format<unknown>): string | undefined {
  const items = url.items();
  if (items.length === 0) return url.text(one);
  const texts = items.flatMap((item) => item.text(one) ?? []);
  return texts.length === items.length ? texts.join(';') : undefined;
}

/** As in kombu, an empty map means no TLS, and a map without `cert_reqs` verifies the certificate. */
export function readBrokerSsl(ssl: FileValue | undefined): BrokerTls | undefined {
  const tls = { caFile: undefined, certFile: undefined, keyFile: undefined, verify: true };
  if (ssl === undefined || ssl.value === false) return undefined;
  if (ssl.value === true) return tls;
  const keys = Object.keys(BROKER_SSL);
  if (ssl.isNull || !ssl.expectMap(`${keys.join(', ')}; or true or false`)) {
    if (ssl.isNull) ssl.complain(`true, false or a map of ${keys.join(', ')}`);
    return undefined;
  }
  for (const [key, value] of ssl.entries()) {
    if (OTHER_KEYS.test(key)) {
      value.complain('no such key: it is not supported; the certificate must match the host of broker_url');
    } else if (!keys.includes(key)) value.complainOfKey(keys);
  }
  const [certfile, keyfile] = [ssl.get('certfile'), ssl.get('keyfile')];
  if (certfile !== undefined && keyfile === undefined) ssl.complainOfMissing('keyfile', keyFile.expects);
  if (keyfile !== undefined && certfile === undefined)
    ssl.complainOfMissing('certfile', certificateFile.expects);
  const certReqs = ssl.get('cert_reqs')?.read(BROKER_SSL.cert_reqs) ?? 'required';
  const settings = {
    caFile: ssl.get('ca_certs')?.read(BROKER_SSL.ca_certs),
    certFile: certfile?.read(BROKER_SSL.certfile),
    keyFile: keyfile?.read(BROKER_SSL.keyfile),
    verify: VERIFY_BY_CERT_REQS.get(certReqs) ?? true,
  };
  return ssl.entries().length === 0 ? undefined : settings;
}

/**
 * Reports a `broker_use_ssl` that has no effect. An address with `ssl_*` keys of its own uses TLS anyway, so `true` holds
 * for it; but the files and checks of a map are ignored, which the user would not expect.
 * @param tls the parsed setting
 * @param broker the addresses, and their text
 */
export function checkBrokerSsl(
  ssl: FileValue | undefined,
  tls: BrokerTls | undefined,
  broker: { readonly urls: BrokerUrls | undefined; readonly text: string | undefined },
): void {
  if (ssl === undefined || ssl.isNull || broker.urls === undefined) return;
  if (isRecorded(broker.urls)) {
    ssl.complain(NO_BROKER);
    return;
  }
  if (tls === undefined || ssl.value === true) return;
  const parsed = parseBrokerUrls(broker.text ?? '', tls);
  const isUsed = parsed.ok && parsed.urls.some((url) => url.scheme !== 'recording' && url.tls === tls);
  if (!isUsed)
    ssl.complain('no map: every address of broker_url has ssl_ keys of its own, which take precedence');
}

/** None is supported: the options of AMQP are those of py-amqp. */
export function checkTransportOptions(options: FileValue | undefined): void {
  if (options === undefined || !options.expectMap('transport options')) return;
  for (const [, value] of options.entries()) {
    value.complain('no such key: AMQP transport options are not supported');
  }
}
