/**
 * The OTLP endpoint, by protocol. For gRPC it is read as in the official exporter, but parts that the exporter silently
 * drops (a path, credentials) are rejected; for HTTP it is a whole URL.
 */
import type { ExporterSettings } from '../../otlp/otlp-settings.ts';
import { SIGNAL_PATHS } from '../../otlp/signal-paths.ts';
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

/** Accepts any text: the check depends on the protocol, which is another option. */
export const otlpAddress: Format<string> = format(
  `${EXPECTS}; over HTTP ${EXPECTS_URL}`,
  (text) => ({ ok: true, value: text }),
  // It may contain rejected credentials, or a key in the query.
  { show: (text) => (/[@?]/.test(text) ? maskUrl(text) : quote(text)) },
);

/**
 * For gRPC the scheme becomes lower case, because the exporter compares it exactly and would use TLS for `HTTP://`. For HTTP
 * the result is the URL of the requests.
 * @param base the endpoint of all signals, to which HTTP appends the path of metrics (OTLP exporter specification,
 *   "Endpoint URLs for OTLP/HTTP")
 */
export function readEndpoint(protocol: OtlpProtocol, text: string, base = false): Reading<string> {
  if (protocol === 'grpc') return readGrpc(text) ?? { ok: false, expected: EXPECTS };
  const url = readUrl(text) ?? { ok: false, expected: EXPECTS_URL };
  if (!base || !url.ok) return url;
  if (url.value.includes('?')) return refuse(EXPECTS_URL, 'no query, because v1/metrics is appended');
  return { ok: true, value: url.value.replace(/\/$/, '') + SIGNAL_PATHS.metrics };
}

export function defaultEndpoint(protocol: OtlpProtocol): string {
  return protocol === 'grpc' ? 'http://localhost:4317' : `http://localhost:4318${SIGNAL_PATHS.metrics}`;
}

/** URL parsers drop line breaks and tabs. */
function parse(text: string): URL | null {
  return /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
}

const NO_CREDENTIALS = 'no user or password in it; use headers for credentials';

function readUrl(text: string): Reading<string> | undefined {
  const url = /^https?:\/\//i.test(text) ? parse(text) : null;
  if (url === null) return undefined;
  if (url.username + url.password !== '') return refuse(EXPECTS_URL, NO_CREDENTIALS);
  return text.includes('#') ? refuse(EXPECTS_URL, 'no # in it') : { ok: true, value: url.href };
}

function readGrpc(text: string): Reading<string> | undefined {
  const [, scheme, rest = text] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? [];
  // Without a scheme, prepend https:// to parse the host, as the exporter does.
  const url = parse(scheme === undefined ? `https://${text}` : text);
  if (url === null) return undefined;
  if (url.protocol === 'unix:') return /^\/./.test(rest) ? { ok: true, value: `unix://${rest}` } : undefined;
  if (url.hostname === '' || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username + url.password !== '') return refuse(EXPECTS, NO_CREDENTIALS);
  if (/[?#]/.test(text) || url.pathname !== '/') {
    return refuse(EXPECTS, 'no path after the host: gRPC has none (is this an endpoint for OTLP over HTTP?)');
  }
  const host = rest.replace(/\/$/, '');
  const address = scheme === undefined ? host : `${url.protocol}//${host}`;
  if (scheme !== undefined && url.protocol === 'https:') return { ok: true, value: address };
  const example = scheme === undefined ? 'host:4317' : 'http://host:4317';
  return /:\d+$/.test(host) ? { ok: true, value: address } : refuse(EXPECTS, `a port, as in ${example}`);
}

function refuse(expects: string, reason: string): Reading<string> {
  return { ok: false, expected: `${expects}; ${reason}` };
}
