/**
 * Reads the TLS settings of a broker, by the names of py-amqp and by those of redis-py. The caller decides which of the
 * two a broker needs.
 */
import { type BrokerTls, VERIFY_BY_CERT_REQS } from '../../broker/broker-url.ts';
import { format, line, oneOf, trueOrFalse } from '../format/formats.ts';
import { certificateFile, keyFile } from '../format/pem-file.ts';
import type { FileValue } from './file-value.ts';
import { into, map, present, type Read, refused, type Shape, scalar } from './shape.ts';

// Python treats None like a missing key.
const certificate = scalar(certificateFile);
const key = scalar(keyFile);
const words = oneOf([...VERIFY_BY_CERT_REQS.keys()]);
/** The values of Python’s `ssl.CERT_…`, which maps in JSON may contain. */
const NUMBERS: ReadonlyMap<string, string> = new Map([
  ['0', 'CERT_NONE'],
  ['1', 'CERT_OPTIONAL'],
  ['2', 'CERT_REQUIRED'],
]);
const certReqs = scalar(
  format(words.expects, (text) => words.read(NUMBERS.get(text) ?? text), {
    schema: words.schema,
    numbers: { type: 'integer', minimum: 0, maximum: 2 },
  }),
);

/** The shape of arguments of the Python libraries that are not supported. */
const other = refused('it is not supported');
const ofRedis = refused('with AMQP the keys have no ssl_ before them');
const ofAmqp = refused('with Redis the keys have ssl_ before them');

/** py-amqp: transport.py, `_wrap_socket_sni`. */
export const AMQP_TLS = {
  ca_certs: certificate,
  certfile: certificate,
  keyfile: key,
  cert_reqs: certReqs,
  server_hostname: scalar(line(255)),
  ciphers: other,
  ssl_version: other,
  tls_minimum_version: other,
  tls_maximum_version: other,
  context: other,
  ssl_ca_certs: ofRedis,
  ssl_certfile: ofRedis,
  ssl_keyfile: ofRedis,
  ssl_cert_reqs: ofRedis,
  ssl_check_hostname: present(trueOrFalse),
};

/** redis-py: connection.py, `SSLConnection`. */
export const REDIS_TLS = {
  ssl_ca_certs: certificate,
  ssl_certfile: certificate,
  ssl_keyfile: key,
  ssl_cert_reqs: certReqs,
  ssl_check_hostname: present(trueOrFalse),
  ssl_ca_data: other,
  ssl_ca_path: other,
  ssl_ciphers: other,
  ssl_min_version: other,
  ssl_password: other,
  ssl_validate_ocsp: other,
  ssl_validate_ocsp_stapled: other,
  ca_certs: ofAmqp,
  certfile: ofAmqp,
  keyfile: ofAmqp,
  cert_reqs: ofAmqp,
};

/** What each key does, in both libraries; the names are without the prefix `ssl_` of redis-py. */
export const TLS_EFFECTS: Readonly<Record<string, string>> = {
  ca_certs: 'PEM file with the certificates to trust instead of those that Node trusts.',
  certfile: 'PEM file with the client certificate.',
  keyfile: 'PEM file with its private key.',
  cert_reqs:
    'Whether the certificate of the broker is checked: `none`, or `optional` and `required`, which are the same; also as `CERT_NONE` …, or in a map as 0, 1 or 2.',
  server_hostname: 'The name that the certificate must have, instead of the host of the address.',
  check_hostname: 'Whether the certificate must be for the host. `false` takes any that the CA has signed.',
};

/** The names of the supported keys, for messages. */
const namesIn = (keys: Readonly<Record<string, Shape<unknown>>>): string =>
  Object.keys(keys)
    .filter((name) => keys[name]?.refused === undefined)
    .join(', ');

/** The meaning of `broker_use_ssl: true`. */
export const VERIFIED: BrokerTls = {
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  verify: true,
  checkHost: true,
};

/** As in py-amqp, a map without `cert_reqs` verifies the certificate. */
const amqpTls = into(map(AMQP_TLS, { of: `${namesIn(AMQP_TLS)}; or true or false` }), (keys, place) => {
  expectBoth(place, 'certfile', 'keyfile');
  return {
    ...VERIFIED,
    caFile: keys.ca_certs,
    certFile: keys.certfile,
    keyFile: keys.keyfile,
    verify: isVerified(keys.cert_reqs),
    checkHost: keys.ssl_check_hostname ?? true,
    ...(keys.server_hostname === undefined ? {} : { serverName: keys.server_hostname }),
  };
});

const redisMap = map(REDIS_TLS, { of: `${namesIn(REDIS_TLS)}; or true or false` });

/** As in redis-py, a map without `ssl_cert_reqs` verifies the certificate. */
const redisTls = into(redisMap, tlsByRedis);

/** The readers of `broker_use_ssl`, by the library whose names its keys have. */
export const TLS_READERS = { 'py-amqp': amqpTls, 'redis-py': redisTls };

/** @param keys the keys that were read from a map, which may have further keys */
export function tlsByRedis(keys: Read<typeof redisMap>, place: FileValue): BrokerTls {
  expectBoth(place, 'ssl_certfile', 'ssl_keyfile');
  return {
    caFile: keys.ssl_ca_certs,
    certFile: keys.ssl_certfile,
    keyFile: keys.ssl_keyfile,
    // redis-py treats None as no check, unlike py-amqp, which treats it as missing.
    verify: place.get('ssl_cert_reqs')?.isNull !== true && isVerified(keys.ssl_cert_reqs),
    checkHost: keys.ssl_check_hostname ?? true,
  };
}

function isVerified(reqs = 'required'): boolean {
  return VERIFY_BY_CERT_REQS.get(reqs) ?? true;
}

function expectBoth(place: FileValue, certName: string, keyName: string): void {
  const [hasCert, hasKey] = [place.get(certName) !== undefined, place.get(keyName) !== undefined];
  if (hasCert && !hasKey) place.complainOfMissing(keyName, keyFile.expects);
  if (hasKey && !hasCert) place.complainOfMissing(certName, certificateFile.expects);
}
