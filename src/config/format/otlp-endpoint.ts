/**
 * The OTLP endpoint, by protocol. For gRPC it is read as in the official exporter, but parts that the exporter silently
 * drops (a path, credentials) are rejected; for HTTP it is a whole URL.
 */
import type { ExporterSettings } from '../../otlp/otlp-settings.ts';
import { SIGNAL_PATHS, type SignalName } from '../../otlp/signal-paths.ts';
import { type Format, format, isQuoted, type Reading } from './formats.ts';
import { maskUrl, quote } from './redaction.ts';

export type OtlpProtocol = ExporterSettings['protocol'];

export const OTLP_PROTOCOLS = [
  'grpc',
  'http/protobuf',
  'http/json',
] as const satisfies readonly OtlpProtocol[];

const EXPECTS = 'http://host:port, https://host[:port], host:port, dns:///host:port or unix:///path';
const EXPECTS_URL = 'http://host[:port]/path or https://host[:port]/path';

/** Accepts any text: the check depends on the protocol, which is another option. */
export const otlpAddress: Format<string> = format(
  `${EXPECTS}; over HTTP ${EXPECTS_URL}`,
  (text) => ({ ok: true, value: text }),
  // It may contain rejected credentials, or a key in the query.
  { show: (text) => (/[@?]/.test(text) ? maskUrl(text) : quote(text)) },
);

/** Whose endpoint a text is: that of the signal itself, of all signals, or of metrics. */
export type EndpointOf = 'signal' | 'all' | 'metrics';

/**
 * For gRPC the scheme becomes lower case, because the exporter compares it exactly and would use TLS for `HTTP://`. For HTTP
 * the result is the URL of the requests: to the endpoint of all signals the path of the signal is appended (OTLP exporter
 * specification, "Endpoint URLs for OTLP/HTTP"); in that of metrics it replaces theirs.
 */
export function readEndpoint(
  protocol: OtlpProtocol,
  text: string,
  of: EndpointOf = 'signal',
  signal: SignalName = 'metrics',
): Reading<string> {
  if (isQuoted(text)) return refuse(protocol === 'grpc' ? EXPECTS : EXPECTS_URL, 'without quotes around it');
  if (protocol === 'grpc') return readGrpc(text) ?? { ok: false, expected: EXPECTS };
  const url = readUrl(text) ?? { ok: false, expected: EXPECTS_URL };
  const path = SIGNAL_PATHS[signal];
  if (!url.ok || of === 'signal' || (of === 'metrics' && signal === 'metrics')) return url;
  if (of === 'metrics') {
    if (METRICS_PATH.test(url.value))
      return { ok: true, value: url.value.replace(METRICS_PATH, `$1${path}`) };
    return refuse(EXPECTS_URL, `${SIGNAL_PATHS.metrics} at its end, which becomes ${path} for ${signal}`);
  }
  if (url.value.includes('?')) return refuse(EXPECTS_URL, `no query, because ${path.slice(1)} is appended`);
  return { ok: true, value: url.value.replace(/\/$/, '') + path };
}

/** Before a query, if there is one. */
const METRICS_PATH = /^([^?]*)\/v1\/metrics(?=\?|$)/;

export function defaultEndpoint(protocol: OtlpProtocol, signal: SignalName = 'metrics'): string {
  return protocol === 'grpc' ? 'http://localhost:4317' : `http://localhost:4318${SIGNAL_PATHS[signal]}`;
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
  const [, name] = /^dns:\/\/\/(.*)$/i.exec(text) ?? [];
  if (name !== undefined) {
    const read = name.includes('/') ? undefined : readGrpc(name);
    return read?.ok === true ? { ok: true, value: `dns:///${read.value}` } : read;
  }
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
