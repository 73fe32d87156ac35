/**
 * The table of export failures, each with its likely cause and remedy, written for users who set up an export for the first time
 * and do not know gRPC or OpenSSL. It has no effect on retries. Pure.
 */
import { status as grpcStatus } from '@grpc/grpc-js';
import { advice, type Cause, commonCauses } from '../../text/connection-causes.ts';
import type { BackendAddress } from './backend-address.ts';
import type { Signal } from './signal.ts';

/** The observed symptoms of a failed request. */
export type Symptom =
  /** No response; `text` is the message of a socket, TLS or parser error. */
  | { readonly kind: 'no answer'; readonly text: string }
  /** `text` is the start of the body. */
  | {
      readonly kind: 'http answer';
      readonly status: number;
      readonly isPage: boolean;
      readonly text: string;
    }
  | { readonly kind: 'grpc answer'; readonly status: number; readonly text: string };

export interface Situation {
  readonly address: BackendAddress;
  readonly signal: Pick<Signal<never>, 'name' | 'httpPath'>;
  /** Whether the backend has accepted a request before: then the settings are right. */
  readonly hasWorked: boolean;
  readonly hasClientCertificate: boolean;
  /** Whether requests carry headers or credentials: then turning TLS off is never suggested. */
  readonly hasSecrets: boolean;
}

type Row<S> = readonly [
  is: (symptom: S, situation: Situation) => boolean,
  cause: (situation: Situation) => string,
];
type Of<Kind extends Symptom['kind']> = Extract<Symptom, { readonly kind: Kind }>;

/** The cause in the first matching row; undefined if no row matches. */
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

/** The proxy cannot be reached or refuses: messages of Node, and of grpc-js, which reports no proper error (`undefined`). */
const NO_PROXY =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ETIMEDOUT|ERR_PROXY|Name resolution failed|Last error: undefined|no reply within|Waiting for LB pick/u;

/** The peer speaks another protocol. */
const UNLIKE = /Protocol error|PROTOCOL_ERROR|HPE_|Parse Error|no application protocol/u;
const CLOSED =
  /socket hang up|ECONNRESET|EPIPE|Failed to connect|connection was closed|disconnected before secure|Connection dropped/u;
const COMMON = commonCauses({
  peer: 'the backend',
  address: 'the endpoint',
  certificate: 'otlp_client_certificate',
  key: 'otlp_client_key',
  noTls: '{noTls}',
  trust: 'set otlp_certificate to its CA certificate',
  otherName: 'write one that it covers in the endpoint',
});

function commonRow(row: Cause): Row<Of<'no answer'>> {
  return [
    ({ text }, { address, hasWorked, hasClientCertificate }) =>
      row.matches(text, { hasWorked, hasClientCertificate, isTls: address.isTls, isLocal: isLocal(address) }),
    ({ address, hasSecrets }) =>
      advice(row, {
        at: at(address),
        noTls: hasSecrets ? 'correct the endpoint, or enable TLS there' : 'write http:// in the endpoint',
      }),
  ];
}

const NO_ANSWER: readonly Row<Of<'no answer'>>[] = [
  [
    (symptom, { address }) => address.proxy !== undefined && NO_PROXY.test(symptom.text),
    ({ address }) =>
      `the proxy ${address.proxy} makes no connection to ${at(address)}: correct its address, scheme, user or password, or name the backend in no_proxy`,
  ],
  [
    matches(/ENOENT|EACCES/u),
    () => 'the socket cannot be opened: start the backend, or correct the endpoint',
  ],
  ...COMMON.map(commonRow),
  [matches(UNLIKE), notUnderstood],
  [
    (symptom, { address, hasWorked }) =>
      !hasWorked && /Waiting for LB pick|no reply within/u.test(symptom.text) && isOthersPort(address),
    notUnderstood,
  ],
  [
    matches(/Waiting for LB pick/u),
    ({ address }) =>
      `the gRPC connection to ${at(address)} timed out: check for a firewall in between, or correct the endpoint`,
  ],
  [
    // Not if an earlier request succeeded: a backend that restarts closes connections, too.
    (symptom, { hasWorked }) => !hasWorked && CLOSED.test(symptom.text),
    (situation) => (isOthersPort(situation.address) ? notUnderstood(situation) : closedAtOnce(situation)),
  ],
];

const HTTP_ANSWER: readonly Row<Of<'http answer'>>[] = [
  [
    ({ status, text }) => status === 400 && /HTTPS (?:server|port)/u.test(text),
    ({ address }) => `${at(address)} expects TLS: write https:// in the endpoint`,
  ],
  [
    ({ status }) => status === 407 || status === 511,
    ({ address: { proxy } }) =>
      proxy === undefined
        ? 'a proxy in between requires authentication'
        : `the proxy ${proxy} requires another user or password`,
  ],
  [({ status }) => status === 401 || status === 403, notAllowed],
  [
    ({ status }, { address, signal }) =>
      isNoPath(status) && !address.path.replace(/\/$/u, '').endsWith(signal.httpPath),
    ({ address, signal }) =>
      `the path for OTLP ${signal.name} is usually ${signal.httpPath}, but the endpoint has ${address.path}: write the full URL`,
  ],
  [({ status, isPage }) => status >= 500 && isPage, proxy],
  [({ isPage }) => isPage, page],
  [
    ({ status }) => isNoPath(status),
    ({ address, signal }) =>
      `${at(address)}${address.path} does not accept OTLP ${signal.name}: correct the port or the path`,
  ],
  [
    ({ status }) => status === 415,
    ({ address }) =>
      `the backend does not accept this encoding: set otlp_protocol to ${address.protocol === 'http/json' ? 'http/protobuf' : 'http/json'}`,
  ],
  [
    ({ status }) => status >= 300 && status <= 399,
    () => 'the backend redirects, and redirects are not followed: write the target in the endpoint',
  ],
];

/** The response is a web page: grpc-js reads four of its first letters (`html`, `HTML`, `!doc`, `!DOC`) as the length of a message. */
const PAGE_LENGTHS = /larger than max \((?:1752460652|1213484364|560230243|558124867) /u;

const GRPC_ANSWER: readonly Row<Of<'grpc answer'>>[] = [
  [matches(/Received HTTP status code 40[13]/u), notAllowed],
  [matches(/Received HTTP status code 50[234]/u), proxy],
  [
    matches(/Received HTTP status code/u),
    (situation) => (isOthersPort(situation.address) ? notUnderstood(situation) : page(situation)),
  ],
  [matches(PAGE_LENGTHS), page],
  [
    ({ status }) => status === grpcStatus.UNAUTHENTICATED || status === grpcStatus.PERMISSION_DENIED,
    notAllowed,
  ],
  [
    ({ status }) => status === grpcStatus.UNIMPLEMENTED,
    ({ address, signal }) =>
      `the gRPC server at ${at(address)} does not accept OTLP ${signal.name}: correct the endpoint, or its receivers`,
  ],
];

function matches(pattern: RegExp): (symptom: Symptom) => boolean {
  return ({ text }) => pattern.test(text);
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

/** Whether the port is the default port of the other protocol. */
function isOthersPort({ protocol, port }: BackendAddress): boolean {
  return port === (protocol === 'grpc' ? '4318' : '4317');
}

function notUnderstood({ address }: Situation): string {
  const isGrpc = address.protocol === 'grpc';
  const other = isGrpc ? 'http/protobuf' : 'grpc';
  return isOthersPort(address)
    ? `${address.port} is the port of OTLP over ${isGrpc ? 'HTTP' : 'gRPC'}: set otlp_protocol to ${other}, or write port ${isGrpc ? '4317' : '4318'}`
    : `${at(address)} does not speak ${isGrpc ? 'gRPC' : 'HTTP/1'}: set otlp_protocol to ${other}, or correct the endpoint`;
}

function closedAtOnce({ address, hasClientCertificate, hasSecrets }: Situation): string {
  const certificate = hasClientCertificate
    ? 'it does not trust otlp_client_certificate'
    : 'it requires otlp_client_certificate';
  const noTls = hasSecrets ? 'it does not speak TLS' : 'it does not speak TLS (write http://)';
  return address.isTls
    ? `${at(address)} aborted the TLS handshake: probably ${certificate}, it does not serve that name, or ${noTls}`
    : `${at(address)} closed the connection without a reply: it probably expects TLS (write https:// in the endpoint)`;
}

function notAllowed(): string {
  return 'access denied: correct the credentials in otlp_headers';
}

function proxy(): string {
  return 'a proxy answered instead of the backend: check that the backend is up';
}

function page({ address }: Situation): string {
  return `a web server or proxy answers at ${at(address)}, not an OTLP backend: correct the endpoint`;
}
