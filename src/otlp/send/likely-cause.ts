/**
 * The table of what goes wrong on the way to a backend, why that is likely so, and what to do: for people who set up an
 * export for the first time, and know neither gRPC nor OpenSSL. It decides nothing. Pure.
 */
import { status as grpcStatus } from '@grpc/grpc-js';
import type { BackendAddress } from './backend-address.ts';
import type { Signal } from './signal.ts';

/** What was noticed of a request that failed. */
export type Symptom =
  /** No answer began; `said` by a socket, by TLS or by a parser. */
  | { readonly kind: 'no answer'; readonly said: string }
  /** `said` in its body, whatever that is. */
  | {
      readonly kind: 'http answer';
      readonly status: number;
      readonly isPage: boolean;
      readonly said: string;
    }
  | { readonly kind: 'grpc answer'; readonly status: number; readonly said: string };

export interface Situation {
  readonly address: BackendAddress;
  readonly signal: Pick<Signal<never>, 'name' | 'httpPath'>;
  /** Whether the backend has taken a request before: then the settings are right. */
  readonly hasWorked: boolean;
  readonly hasClientCertificate: boolean;
  /** Whether a request has headers or credentials: then it is not advised to send it without TLS. */
  readonly hasSecrets: boolean;
}

type Row<S> = readonly [
  is: (symptom: S, situation: Situation) => boolean,
  says: (situation: Situation) => string,
];
type Of<Kind extends Symptom['kind']> = Extract<Symptom, { readonly kind: Kind }>;

/** Undefined where nothing is likelier than anything else. Of several rows that fit, the first counts. */
export function likelyCause(symptom: Symptom, situation: Situation): string | undefined {
  switch (symptom.kind) {
    case 'no answer':
      return find(NO_ANSWER, symptom, situation);
    case 'http answer':
      return find(HTTP_ANSWER, symptom, situation);
    case 'grpc answer':
      return find(GRPC_ANSWER, symptom, situation);
  }
}

function find<S>(rows: readonly Row<S>[], symptom: S, situation: Situation): string | undefined {
  return rows.find(([is]) => is(symptom, situation))?.[1](situation);
}

/** Of whatever was expected to be something else. */
const UNLIKE = /Protocol error|PROTOCOL_ERROR|HPE_|Parse Error|no application protocol/u;
const CLOSED =
  /socket hang up|ECONNRESET|EPIPE|Failed to connect|connection was closed|disconnected before secure|Connection dropped/u;
const NO_TLS = /wrong version number|packet length too long|unknown protocol|http request|bad record type/u;
const UNTRUSTED = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed|UNABLE_TO_|SELF_SIGNED/u;
const CERTIFICATE_WANTED = /alert (?:certificate required|bad certificate|unknown ca|no certificate)/u;
/** Where one of ours is set. */
const CERTIFICATE_REFUSED =
  /alert (?:certificate required|bad certificate|unsupported certificate|certificate (?:unknown|expired|revoked)|unknown ca|no certificate|access denied)/u;

const NO_ANSWER: readonly Row<Of<'no answer'>>[] = [
  [
    (symptom, { hasWorked }) => hasWorked && /ECONNREFUSED/u.test(symptom.said),
    ({ address }) => `nobody listens at ${at(address)} any more: start the backend`,
  ],
  [
    says(/ECONNREFUSED/u),
    ({ address }) =>
      `nobody listens at ${at(address)}: start the backend, or correct the endpoint` +
      (isLocal(address) ? ' (in a container, localhost is the container itself)' : ''),
  ],
  [
    says(/ENOTFOUND|EAI_AGAIN|Name resolution failed/u),
    ({ address }) => `the name ${address.host} is not found: correct the endpoint, or the DNS`,
  ],
  [
    says(/EHOSTUNREACH|ENETUNREACH|EHOSTDOWN/u),
    ({ address }) => `no network leads to ${at(address)}: correct the endpoint, or the network`,
  ],
  [says(/ENOENT|EACCES/u), () => 'the socket cannot be opened: start the backend, or correct the endpoint'],
  [
    (symptom, { address }) => address.isTls && NO_TLS.test(symptom.said),
    ({ address, hasSecrets }) =>
      `no TLS is spoken at ${at(address)}: ${hasSecrets ? 'correct the endpoint, or have the backend speak it' : 'write http:// in the endpoint'}`,
  ],
  [
    says(UNTRUSTED),
    ({ address }) =>
      `the certificate of ${at(address)} is not trusted: name its authority in otlp_certificate`,
  ],
  [
    says(/CERT_HAS_EXPIRED|certificate has expired/u),
    ({ address }) => `the certificate of ${at(address)} has expired: renew it, or set the clock`,
  ],
  [
    says(/CERT_NOT_YET_VALID|certificate is not yet valid/u),
    ({ address }) => `the certificate of ${at(address)} is not valid yet: set the clocks`,
  ],
  [
    says(/ALTNAME|altnames/u),
    ({ address }) =>
      `the certificate of ${at(address)} is for another name: write a name that it has in the endpoint`,
  ],
  [
    (symptom, { hasClientCertificate }) => hasClientCertificate && CERTIFICATE_REFUSED.test(symptom.said),
    () =>
      'the backend does not trust our certificate: name its authority there, or correct otlp_client_certificate',
  ],
  [
    says(/alert handshake failure/u),
    ({ hasClientCertificate }) =>
      hasClientCertificate
        ? 'the backend does not take our certificate, or no cipher or version of TLS that we have: look what it wants'
        : 'the backend wants a certificate of ours (set otlp_client_certificate and otlp_client_key), or a cipher or version of TLS that we do not have',
  ],
  [
    says(CERTIFICATE_WANTED),
    () => 'the backend wants a certificate of ours: set otlp_client_certificate and otlp_client_key',
  ],
  [says(UNLIKE), notUnderstood],
  [
    (symptom, { address, hasWorked }) =>
      !hasWorked && /Waiting for LB pick|no answer within/u.test(symptom.said) && isOthersPort(address),
    notUnderstood,
  ],
  [
    says(/Waiting for LB pick/u),
    ({ address }) =>
      `no gRPC connection to ${at(address)} came about in time: look for a firewall in between, or correct the endpoint`,
  ],
  [
    // A backend that is restarted does that too.
    (symptom, { hasWorked }) => !hasWorked && CLOSED.test(symptom.said),
    (situation) => (isOthersPort(situation.address) ? notUnderstood(situation) : closedAtOnce(situation)),
  ],
];

const HTTP_ANSWER: readonly Row<Of<'http answer'>>[] = [
  [
    ({ status, said }) => status === 400 && /HTTPS (?:server|port)/u.test(said),
    ({ address }) => `TLS is spoken at ${at(address)}: write https:// in the endpoint`,
  ],
  [({ status }) => status === 401 || status === 403, notAllowed],
  [({ status }) => status === 407 || status === 511, () => 'a proxy in between wants a login'],
  [
    ({ status }, { address, signal }) =>
      isNoPath(status) && !address.path.replace(/\/$/u, '').endsWith(signal.httpPath),
    ({ address, signal }) =>
      `the path of OTLP ${signal.name} is mostly ${signal.httpPath}, and ${address.path} is asked for: write the whole URL`,
  ],
  [({ status, isPage }) => status >= 500 && isPage, proxy],
  [({ isPage }) => isPage, page],
  [
    ({ status }) => isNoPath(status),
    ({ address, signal }) =>
      `no OTLP ${signal.name} are taken at ${at(address)}${address.path}: correct the port or the path`,
  ],
  [
    ({ status }) => status === 415,
    ({ address }) =>
      `the backend does not take this encoding: set otlp_protocol to ${address.protocol === 'http/json' ? 'http/protobuf' : 'http/json'}`,
  ],
  [
    ({ status }) => status >= 300 && status <= 399,
    () => 'the backend sends us elsewhere, where nothing is sent: write that address in the endpoint',
  ],
];

/** A web page in place of a message: its first letters are read as a length (`html`, `HTML`, `!doc`, `!DOC`). */
const PAGE_LENGTHS = /larger than max \((?:1752460652|1213484364|560230243|558124867) /u;

const GRPC_ANSWER: readonly Row<Of<'grpc answer'>>[] = [
  [says(/Received HTTP status code 40[13]/u), notAllowed],
  [says(/Received HTTP status code 50[234]/u), proxy],
  [
    says(/Received HTTP status code/u),
    (situation) => (isOthersPort(situation.address) ? notUnderstood(situation) : page(situation)),
  ],
  [says(PAGE_LENGTHS), page],
  [
    ({ status }) => status === grpcStatus.UNAUTHENTICATED || status === grpcStatus.PERMISSION_DENIED,
    notAllowed,
  ],
  [
    ({ status }) => status === grpcStatus.UNIMPLEMENTED,
    ({ address, signal }) =>
      `a gRPC server is at ${at(address)}, but it takes no OTLP ${signal.name}: correct the endpoint, or what it receives`,
  ],
];

function says(pattern: RegExp): (symptom: Symptom) => boolean {
  return ({ said }) => pattern.test(said);
}

function at({ host, port }: BackendAddress): string {
  return `${host}:${port}`;
}

function isLocal({ host }: BackendAddress): boolean {
  return /^(?:localhost|127\..*|\[::1\])$/u.test(host);
}

function isNoPath(status: number): boolean {
  return status === 404 || status === 405;
}

/** Whether it is the port on which the other protocol is spoken, as a rule. */
function isOthersPort({ protocol, port }: BackendAddress): boolean {
  return port === (protocol === 'grpc' ? '4318' : '4317');
}

function notUnderstood({ address }: Situation): string {
  const isGrpc = address.protocol === 'grpc';
  const other = isGrpc ? 'http/protobuf' : 'grpc';
  return isOthersPort(address)
    ? `${address.port} is the port of OTLP over ${isGrpc ? 'HTTP' : 'gRPC'}: set otlp_protocol to ${other}, or write port ${isGrpc ? '4317' : '4318'}`
    : `no ${isGrpc ? 'gRPC' : 'HTTP/1'} is spoken at ${at(address)}: set otlp_protocol to ${other}, or correct the endpoint`;
}

function closedAtOnce({ address, hasClientCertificate, hasSecrets }: Situation): string {
  const certificate = hasClientCertificate
    ? 'it does not trust otlp_client_certificate'
    : 'it wants otlp_client_certificate';
  const noTls = hasSecrets ? 'no TLS is spoken there' : 'no TLS is spoken there (write http://)';
  return address.isTls
    ? `${at(address)} broke the TLS handshake off: likely ${certificate}, it does not serve that name, or ${noTls}`
    : `${at(address)} closed the connection without an answer: likely TLS is spoken there (write https:// in the endpoint)`;
}

function notAllowed(): string {
  return 'the backend does not allow it: correct the credentials in otlp_headers';
}

function proxy(): string {
  return 'a proxy answers, and not the backend behind it: look whether that is up';
}

function page({ address }: Situation): string {
  return `a web page or a proxy answers at ${at(address)}, and no OTLP backend: correct the endpoint`;
}
