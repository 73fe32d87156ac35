/**
 * Reads the OTLP endpoint, by protocol. For gRPC it accepts what the official exporter accepts, but rejects the parts that the
 * exporter silently drops (a path, credentials). For HTTP it accepts a complete URL. It connects to nothing.
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

/** Accepts any text, because the check needs the protocol, which is another option; `readEndpoint` makes that check. */
export const otlpAddress: Format<string> = format(
  `${EXPECTS}; over HTTP ${EXPECTS_URL}`,
  (text) => ({ ok: true, value: text }),
  // The text may contain credentials, which are rejected later, or a key in the query.
  { show: (text) => (/[@?]/.test(text) ? maskUrl(text) : quote(text)) },
);

/** What an endpoint applies to: the signal that is read, all signals, or metrics. */
export type EndpointOf = 'signal' | 'all' | 'metrics';

/**
 * For gRPC it converts the scheme to lower case, because the exporter compares it exactly and would use TLS for `HTTP://`. For
 * HTTP it returns the URL of the requests: it appends the path of the signal to an endpoint for all signals (OTLP exporter
 * specification, "Endpoint URLs for OTLP/HTTP"), and replaces the path of metrics in an endpoint for metrics.
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

/** The path of metrics, at the end of a URL or before its query. */
const METRICS_PATH = /^([^?]*)\/v1\/metrics(?=\?|$)/;

export function defaultEndpoint(protocol: OtlpProtocol, signal: SignalName = 'metrics'): string {
  return protocol === 'grpc' ? 'http://localhost:4317' : `http://localhost:4318${SIGNAL_PATHS[signal]}`;
}

/** Also null for texts with line breaks and tabs, which URL parsers silently drop. */
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
