/**
 * Where OTLP requests go, by the protocol: for gRPC read as the official exporter reads it, but refusing what that one
 * drops without a word (a path, credentials in the address); for HTTP a whole URL.
 */
import type { ExporterSettings } from '../../otlp/otlp-settings.ts';
import { type Format, format, type Reading } from './formats.ts';
import { maskUrl, quote } from './redaction.ts';

export type OtlpProtocol = ExporterSettings['protocol'];

export const OTLP_PROTOCOLS = [
  'grpc',
  'http/protobuf',
  'http/json',
] as const satisfies readonly OtlpProtocol[];

const EXPECTS = 'http://host:port, https://host[:port], host:port or unix:///path';
const EXPECTS_URL = 'http://host[:port]/path or https://host[:port]/path';

/** Whatever may be an address with one protocol or the other; which of them decides, another option says. */
export const otlpAddress: Format<string> = format(
  `${EXPECTS}; over HTTP ${EXPECTS_URL}`,
  (text) => ({ ok: true, value: text }),
  // Credentials are refused, and may be there nevertheless; a query may have a key in it.
  { show: (text) => (/[@?]/.test(text) ? maskUrl(text) : quote(text)) },
);

/**
 * An address for gRPC comes in the form that the exporter understands: the scheme in lower case, because it compares
 * letter by letter and would otherwise speak TLS to `HTTP://`. Over HTTP it is the URL of requests.
 * @param base it is that of all signals, after which the path of metrics is put over HTTP (OTLP exporter specification,
 *   "Endpoint URLs for OTLP/HTTP")
 */
export function readEndpoint(protocol: OtlpProtocol, text: string, base = false): Reading<string> {
  if (protocol === 'grpc') return readGrpc(text) ?? { ok: false, expected: EXPECTS };
  const url = readUrl(text) ?? { ok: false, expected: EXPECTS_URL };
  if (!base || !url.ok) return url;
  if (url.value.includes('?')) return refuse(EXPECTS_URL, 'no query, because v1/metrics is put after it');
  return { ok: true, value: `${url.value.replace(/\/$/, '')}/v1/metrics` };
}

/** What it is where none is given. */
export function defaultEndpoint(protocol: OtlpProtocol): string {
  return protocol === 'grpc' ? 'http://localhost:4317' : 'http://localhost:4318/v1/metrics';
}

function readUrl(text: string): Reading<string> | undefined {
  const url = /[\s\p{Cc}]/u.test(text) || !/^https?:\/\//i.test(text) ? null : URL.parse(text);
  if (url === null) return undefined;
  if (url.username !== '' || url.password !== '') {
    return refuse(EXPECTS_URL, 'no user or password in it; use headers for credentials');
  }
  if (text.includes('#')) return refuse(EXPECTS_URL, 'no # in it');
  return { ok: true, value: url.href };
}

function readGrpc(text: string): Reading<string> | undefined {
  // URL parsers drop line breaks and tabs, wherever they are.
  if (/[\s\p{Cc}]/u.test(text)) return undefined;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'unix')
    return /^unix:\/\/\/./i.test(text) ? { ok: true, value: `unix${text.slice(4)}` } : undefined;
  // Without a scheme the exporter, too, lets a URL parser find the host by putting https:// before it.
  const url = URL.parse(scheme === undefined ? `https://${text}` : text);
  if (url === null || url.hostname === '') return undefined;
  if (url.username !== '' || url.password !== '')
    return refuse(EXPECTS, 'no user or password in it; use headers for credentials');
  if (/[?#]/.test(text) || url.pathname !== '/') {
    return refuse(
      EXPECTS,
      'no path after the host: gRPC has none (an address for OTLP over HTTP does not fit)',
    );
  }
  const rest = text.slice(scheme === undefined ? 0 : scheme.length + 3).replace(/\/$/, '');
  switch (scheme) {
    case undefined:
      return hasPort(rest) ? { ok: true, value: rest } : refuse(EXPECTS, 'a port, as in host:4317');
    case 'https':
      return { ok: true, value: `https://${rest}` };
    case 'http':
      return hasPort(rest)
        ? { ok: true, value: `http://${rest}` }
        : refuse(EXPECTS, 'a port, as in http://host:4317');
    default:
      return undefined;
  }
}

function hasPort(hostAndPort: string): boolean {
  return /:\d+$/.test(hostAndPort);
}

function refuse(expects: string, reason: string): Reading<string> {
  return { ok: false, expected: `${expects}; ${reason}` };
}
