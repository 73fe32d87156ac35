/** Celery's broker settings that only a configuration file can have: `broker_use_ssl` and `broker_transport_options`. */
import {
  type BrokerTls,
  type BrokerUrls,
  parseBrokerUrls,
  VERIFY_BY_CERT_REQS,
} from '../../broker/broker-url.ts';
import { oneOf } from '../format/formats.ts';
import { certificateFile, keyFile } from '../format/pem-file.ts';
import { isRecorded, NO_BROKER, type Options } from '../option-rules.ts';
import type { FileValue } from './file-value.ts';
import { map, mapOf, present, refused, type Shape } from './shape.ts';

const KEYS = 'ca_certs, certfile, keyfile, cert_reqs';

/** Further arguments of Python's `ssl.wrap_socket`, none of which is supported. */
const other = refused('it is not supported; the certificate must match the host of broker_url');

/** The keys of `broker_use_ssl`. */
export const BROKER_SSL = {
  ca_certs: present(certificateFile),
  certfile: present(certificateFile),
  keyfile: present(keyFile),
  cert_reqs: present(oneOf([...VERIFY_BY_CERT_REQS.keys()])),
  server_hostname: other,
  ciphers: other,
  ssl_version: other,
  tls_minimum_version: other,
  tls_maximum_version: other,
  context: other,
};

const sslMap = map(BROKER_SSL, { of: `${KEYS}; or true or false` });

/** As in kombu, an empty map means no TLS, and a map without `cert_reqs` verifies the certificate. */
export const USE_SSL: Shape<BrokerTls> = {
  read(ssl) {
    const tls = { caFile: undefined, certFile: undefined, keyFile: undefined, verify: true };
    if (ssl.value === true) return tls;
    if (ssl.isNull) ssl.complain(`true, false or a map of ${KEYS}`);
    const keys = ssl.value === false || ssl.isNull ? undefined : sslMap.read(ssl);
    if (keys === undefined || ssl.entries().length === 0) return undefined;
    const [certfile, keyfile] = [ssl.get('certfile'), ssl.get('keyfile')];
    if (certfile !== undefined && keyfile === undefined) ssl.complainOfMissing('keyfile', keyFile.expects);
    if (keyfile !== undefined && certfile === undefined)
      ssl.complainOfMissing('certfile', certificateFile.expects);
    return {
      caFile: keys.ca_certs,
      certFile: keys.certfile,
      keyFile: keys.keyfile,
      verify: VERIFY_BY_CERT_REQS.get(keys.cert_reqs ?? 'required') ?? true,
    };
  },
};

/**
 * The addresses with `broker_use_ssl`. Reports one that has no effect. An address with `ssl_*` keys of its own uses TLS
 * anyway, so `true` holds for it; but the files and checks of a map are ignored, which the user would not expect.
 * @param tls the parsed setting
 */
export function urlsWithSsl(
  ssl: FileValue | undefined,
  tls: BrokerTls | undefined,
  options: Options,
): BrokerUrls | undefined {
  const urls = options.value('broker_url');
  if (ssl === undefined || ssl.isNull || urls === undefined) return urls;
  if (isRecorded(urls)) return ssl.complain(NO_BROKER);
  const parsed = tls === undefined ? undefined : parseBrokerUrls(options.text('broker_url') ?? '', tls);
  if (parsed?.ok !== true) return urls;
  const isUsed = parsed.urls.some((url) => url.scheme !== 'recording' && url.tls === tls);
  if (isUsed || ssl.value === true) return parsed.urls;
  return ssl.complain('no map: every address of broker_url has ssl_ keys of its own, which take precedence');
}

/** None is supported: the options of AMQP are those of py-amqp. */
export const TRANSPORT_OPTIONS = mapOf('transport options', (_, value) =>
  value.complain('no such key: AMQP transport options are not supported'),
);
