/**
 * What only a configuration file can say of a service's broker: a list of addresses, `broker_use_ssl` and
 * `broker_transport_options`, which are Celery's own settings.
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

/** What `ssl.wrap_socket` of Python takes beside; none of it is a setting of TLS connections here. */
const OTHER_KEYS = /^(?:server_hostname|ciphers|ssl_version|tls_(?:minimum|maximum)_version|context)$/;

/** `broker_use_ssl` by its keys. */
export const BROKER_SSL = {
  ca_certs: certificateFile,
  certfile: certificateFile,
  keyfile: keyFile,
  cert_reqs: oneOf([...VERIFY_BY_CERT_REQS.keys()]),
} as const;

/** The text of `broker_url`, which Celery takes as a list too; undefined where it is none and that was noted. */
export function readBrokerUrl(url: FileValue, one: Format<unknown>): string | undefined {
  const items = url.items();
  if (items.length === 0) return url.text(one);
  const texts = items.flatMap((item) => item.text(one) ?? []);
  return texts.length === items.length ? texts.join(';') : undefined;
}

/** As kombu reads it: an empty map is no TLS, and a map without `cert_reqs` verifies. */
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
      value.complain(
        'nothing here: the certificate has to be for the host of broker_url, with the defaults of TLS',
      );
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
 * Takes note of a `broker_use_ssl` that nothing comes of. `true` is honoured by an address with `ssl_*` keys, which is
 * one with TLS; the files and checks of a map are not, and whoever wrote them believes that they are.
 * @param tls what was read of it
 * @param text of all addresses, which are those that were read
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
  if (!isUsed) ssl.complain('no such map: every address of broker_url has ssl_ keys of its own, which win');
}

/** Those of AMQP are py-amqp's, and none of them is one of ours. */
export function checkTransportOptions(options: FileValue | undefined): void {
  if (options === undefined || !options.expectMap('transport options')) return;
  for (const [, value] of options.entries()) {
    value.complain('nothing here: no transport option of AMQP is honoured');
  }
}
