/** Each row of the table, and cases without an explanation. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backendAddress } from '../../../src/otlp/send/backend-address.ts';
import { likelyCause, type Symptom } from '../../../src/otlp/send/likely-cause.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';

type Answered = Partial<Omit<Extract<Symptom, { kind: 'http answer' }>, 'kind'>>;

const none = (text: string): Symptom => ({ kind: 'no answer', text });
const http = (status: number, more: Answered = {}): Symptom => ({
  ...{ kind: 'http answer', status, isPage: false, text: '' },
  ...more,
});
const grpc = (status: number, text = ''): Symptom => ({ kind: 'grpc answer', status, text });

const NEW = { signal: SIGNALS.metrics, hasWorked: false, hasClientCertificate: false, hasSecrets: false };

const GRPC = 'http://collector:4317';
const GRPCS = 'https://collector:4317';
const HTTP = 'http://collector:4318/v1/metrics';
const HTTPS = 'https://collector:4318/v1/metrics';

const UNCONNECTED = 'No connection established. Last error: ';
const WRONG_VERSION =
  'write EPROTO 00:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/x.c:77:';

/** An endpoint over HTTP has a path here, one over gRPC has none. */
const CASES: readonly (readonly [endpoint: string, Symptom, says: RegExp | undefined])[] = [
  [HTTP, none('EMFILE connect EMFILE 10.0.0.7:4318'), /LimitNOFILE/u],
  ['http://localhost:4317', none('ECONNREFUSED'), /; in a container, localhost is the container itself$/u],
  ['http://[::1]:4318/v1/metrics', none('ECONNREFUSED'), /in a container/u],
  [
    HTTP,
    none('EAI_AGAIN getaddrinfo EAI_AGAIN collector'),
    /^the host name of collector:\d+ cannot be resolved/u,
  ],
  [HTTP, none('EHOSTUNREACH connect EHOSTUNREACH 10.0.0.7:4318'), /^collector:4318 is unreachable/u],
  [
    'unix:///run/x.sock',
    none(`${UNCONNECTED}Error: connect ENOENT /run/x.sock. `),
    /^the socket cannot be opened/u,
  ],
  [GRPCS, none(`${UNCONNECTED}Error: self-signed certificate in certificate chain`), /not trusted/u],
  [GRPCS, none(`${UNCONNECTED}Error: unable to get local issuer certificate`), /not trusted/u],
  [HTTPS, none('CERT_HAS_EXPIRED certificate has expired'), /has expired/u],
  [HTTPS, none('CERT_NOT_YET_VALID certificate is not yet valid'), /not valid yet/u],
  [HTTPS, none('ERR_TLS_CERT_ALTNAME_INVALID x does not match'), /is for another host name/u],
  [
    GRPCS,
    none("Hostname/IP does not match certificate's altnames: IP: 127.0.0.2 is not in"),
    /is for another host name/u,
  ],
  [
    HTTPS,
    none('ERR_SSL_X tlsv13 alert certificate required'),
    /set otlp_client_certificate and otlp_client_key$/u,
  ],
  [
    'http://collector:4318',
    none(`${UNCONNECTED}Protocol error`),
    /^4318 is the port of OTLP over HTTP: set otlp_protocol to http\/protobuf, or write port 4317$/u,
  ],
  [
    'http://collector:4317/v1/metrics',
    none('HPE_INVALID_CONSTANT Parse Error: Expected HTTP/'),
    /^4317 is the port of OTLP over gRPC: set otlp_protocol to grpc, or write port 4318$/u,
  ],
  [
    'https://collector:4318',
    none(`${UNCONNECTED}Error: x:tlsv1 alert no application protocol:y`),
    /^4318 is the port of OTLP over HTTP/u,
  ],
  [
    'http://collector:4317/v1/metrics',
    none('ECONNRESET socket hang up'),
    /^4317 is the port of OTLP over gRPC/u,
  ],
  [
    'http://collector:4317/v1/metrics',
    none(' no reply within 700 ms'),
    /^4317 is the port of OTLP over gRPC/u,
  ],
  [
    GRPC,
    none('Deadline exceeded after 0.701s,Waiting for LB pick'),
    /^the gRPC connection to collector:4317 timed out/u,
  ],
  [HTTP, none(' no reply within 700 ms'), undefined],
  [HTTP, none(' something else'), undefined],

  [
    HTTP,
    http(400, { text: 'Client sent an HTTP request to an HTTPS server.\n' }),
    /^collector:4318 expects TLS: write https:/u,
  ],
  [
    HTTP,
    http(400, { isPage: true, text: '<html>The plain HTTP request was sent to HTTPS port' }),
    /^collector:4318 expects TLS/u,
  ],
  [HTTP, http(400), undefined],
  [HTTP, http(403, { isPage: true }), /otlp_headers$/u],
  [HTTP, http(407), /^a proxy in between requires authentication$/u],
  [
    'http://collector:4318/otlp',
    http(405, { isPage: true }),
    /but the endpoint has \/otlp: write the full URL$/u,
  ],
  [HTTP, http(404, { isPage: true }), /^a web server or proxy answers at collector:4318/u],
  [HTTP, http(503), undefined],
  [HTTP, http(415), /set otlp_protocol to http\/json$/u],
  [HTTP, http(308), /^the backend redirects/u],
  [HTTP, http(500), undefined],

  [GRPC, grpc(16, 'no token'), /otlp_headers$/u],
  [GRPC, grpc(7, 'Received HTTP status code 403'), /otlp_headers$/u],
  [
    'http://collector:4318',
    grpc(12, 'Received HTTP status code 404'),
    /^4318 is the port of OTLP over HTTP/u,
  ],
  [
    GRPC,
    grpc(8, 'Received message larger than max (1752460652 vs 4194304)'),
    /^a web server or proxy answers/u,
  ],
  [GRPC, grpc(8, 'Received message larger than max (5000000 vs 4194304)'), undefined],
  [GRPC, grpc(14, 'come back later'), undefined],
];

for (const [endpoint, symptom, expected] of CASES) {
  const what = 'status' in symptom ? `${symptom.status} ${symptom.text}` : symptom.text;
  test(`${endpoint}: ${what.trim()}`, () => {
    const protocol = /:\d+\//u.test(endpoint) ? 'http/protobuf' : 'grpc';
    const address = backendAddress({ protocol, endpoint, insecure: false });
    const cause = likelyCause(symptom, { ...NEW, address });
    if (expected === undefined) assert.equal(cause, undefined);
    else assert.match(cause ?? 'nothing', expected);
  });
}

test('for a backend that has accepted requests, no configuration mistake is suggested', () => {
  const closed = none('ECONNRESET socket hang up');
  for (const endpoint of [HTTP, HTTPS, 'http://collector:4317/v1/metrics']) {
    const address = backendAddress({ protocol: 'http/protobuf', endpoint, insecure: false });
    assert.equal(likelyCause(closed, { ...NEW, address, hasWorked: true }), undefined);
    assert.notEqual(likelyCause(closed, { ...NEW, address }), undefined);
    assert.match(
      likelyCause(none('ECONNREFUSED'), { ...NEW, address, hasWorked: true }) ?? '',
      /nothing is listening on \S+ any more/u,
    );
  }
});

const tlsCause = (text: string, more: Partial<typeof NEW>): string => {
  const address = backendAddress({ protocol: 'http/protobuf', endpoint: HTTPS, insecure: false });
  return likelyCause(none(text), { ...NEW, ...more, address }) ?? '';
};

test('a configured certificate is not suggested, but may be untrusted', () => {
  for (const alert of ['unknown ca', 'bad certificate', 'certificate required']) {
    const text = `EPROTO tlsv1 alert ${alert}`;
    assert.match(tlsCause(text, { hasClientCertificate: true }), /rejects the client certificate: /u);
    assert.match(tlsCause(text, {}), /requires a client certificate: set otlp_client_certificate/u);
  }
  const failure = 'EPROTO ssl/tls alert handshake failure';
  assert.match(
    tlsCause(failure, { hasClientCertificate: true }),
    /rejects the client certificate, or shares no cipher/u,
  );
  assert.match(
    tlsCause(failure, {}),
    /requires a client certificate, or shares no cipher.*: set otlp_client_certificate/u,
  );
  const closed = 'ECONNRESET socket hang up';
  assert.match(tlsCause(closed, { hasClientCertificate: true }), /does not trust otlp_client_certificate/u);
});

test('plain text is never suggested with headers or credentials', () => {
  for (const text of ['ECONNRESET socket hang up', `EPROTO ${WRONG_VERSION}`]) {
    assert.match(tlsCause(text, {}), /does not speak TLS.*http:/u);
    assert.match(tlsCause(text, { hasSecrets: true }), /does not speak TLS/u);
    assert.doesNotMatch(tlsCause(text, { hasSecrets: true }), /http:/u);
  }
});

test('the advice names the signal that is sent', () => {
  const signal = { name: 'traces', httpPath: '/v1/traces' };
  const address = backendAddress({ protocol: 'http/json', endpoint: HTTP, insecure: false });
  assert.match(
    likelyCause(http(404), { ...NEW, address, signal }) ?? '',
    /OTLP traces is usually \/v1\/traces/u,
  );
});
