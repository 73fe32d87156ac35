/**
 * Reads the proxy of each exporter from environment variables, by the names that curl, Go and gRPC use, or reports mistakes.
 * These are the only settings of the export without an option. It prints no values.
 */
import type { ExporterSettings } from '../otlp/otlp-settings.ts';
import type { Config } from './config.ts';
import { isLoopback } from './format/listen-address.ts';
import type { Mistake } from './mistake.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The first variable that is set counts; each name is tried in lower case, then in upper case. */
const OF_GRPC = ['grpc_proxy', 'https_proxy', 'http_proxy'];
const EXCEPTIONS_OF_GRPC = ['no_grpc_proxy', 'no_proxy'];

export type Exports = Pick<Config, 'otlp' | 'traces' | 'logs' | 'exceptions'>;

/** The settings with the proxies of all exporters. @param mistakes collects mistakes in the variables that count */
export function withProxies(
  { otlp, traces, logs, ...others }: Exports,
  env: Environment,
  mistakes: Mistake[],
): Exports {
  const proxied = <Part extends { readonly exporter: ExporterSettings }>(part: Part): Part => ({
    ...part,
    exporter: withProxy(part.exporter, env, mistakes),
  });
  return {
    ...others,
    otlp: proxied(otlp),
    ...(traces && { traces: proxied(traces) }),
    ...(logs && { logs: proxied(logs) }),
  };
}

/**
 * The settings with the proxy for this backend, if there is one. A backend on this machine never gets a proxy.
 * @param mistakes collects a mistake in the variable that counts
 */
function withProxy(settings: ExporterSettings, env: Environment, mistakes: Mistake[]): ExporterSettings {
  const place = placeOf(settings);
  // As in Go. Through a company’s proxy, a local Collector would be unreachable.
  if (place === undefined || isLoopback(place.host)) return settings;
  const { host, port, isTls } = place;
  const isGrpc = settings.protocol === 'grpc';
  const found = first(env, isGrpc ? OF_GRPC : [isTls ? 'https_proxy' : 'http_proxy']);
  if (found === undefined) return settings;
  const exceptions = first(env, isGrpc ? EXCEPTIONS_OF_GRPC : ['no_proxy'])?.text ?? '';
  if (isExcepted(host, port, exceptions)) return settings;
  const proxy = readProxy(found.text);
  const schemes = isGrpc ? ['http:'] : ['http:', 'https:'];
  if (proxy !== undefined && schemes.includes(proxy.protocol)) return { ...settings, proxy: proxy.href };
  const expected = `${schemes.map((scheme) => `${scheme}//[user:password@]host:port`).join(' or ')} for exports over ${isGrpc ? 'gRPC' : 'HTTP'}, with special characters percent-encoded; name the backend in no_proxy to reach it without a proxy`;
  mistakes.push({ path: 'environment', source: found.name, expected });
  return settings;
}

function first(env: Environment, names: readonly string[]) {
  return names
    .flatMap((name) => [name, name.toUpperCase()])
    .map((name) => ({ name, text: env[name]?.trim() ?? '' }))
    .find(({ text }) => text !== '');
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/u;

/** Parses the URL of a proxy; as in curl, one without a scheme is `http:`. */
function readProxy(text: string): URL | undefined {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || url.hostname === '' || !['/', ''].includes(url.pathname)) return undefined;
  // The parser would cut a password at one of these characters.
  if (/[?#]/u.test(text)) return undefined;
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    return undefined;
  }
  return url;
}

/**
 * Whether a list of exceptions contains the host. Items are domains, which include their subdomains, addresses, or networks
 * (IPv4), each with or without a port; or `*`.
 */
function isExcepted(host: string, port: string, exceptions: string): boolean {
  const name = bare(host);
  return exceptions
    .toLowerCase()
    .split(/[\s,]+/u)
    .filter((item) => item !== '')
    .some((item) => {
      const of = /^(?<host>\[[^\]]*\]|[^:]*):(?<port>\d+)$/u.exec(item)?.groups;
      if (of?.['port'] !== undefined && of['port'] !== port) return false;
      const domain = bare(of?.['host'] ?? item).replace(/^\*?\./u, '');
      if (domain === '*') return true;
      if (domain.includes('/')) return IPV4.test(name) && isWithin(name, domain);
      return name === domain || name.endsWith(`.${domain}`);
    });
}

function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/u, '$1')
    .replace(/\.$/u, '');
}

function isWithin(address: string, network: string): boolean {
  const [, from = '', bits = ''] = /^([\d.]+)\/(\d{1,2})$/u.exec(network) ?? [];
  if (!IPV4.test(from) || Number(bits) > 32) return false;
  const size = 2 ** (32 - Number(bits));
  return Math.floor(numberOf(address) / size) === Math.floor(numberOf(from) / size);
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** Host and port of a valid endpoint; undefined for a Unix socket. */
function placeOf({ endpoint, insecure }: ExporterSettings) {
  const text = endpoint.replace(/^dns:\/\/\//u, '');
  const url = URL.parse(text.includes('://') ? text : `${insecure ? 'http' : 'https'}://${text}`);
  if (url === null || url.hostname === '') return undefined;
  const isTls = url.protocol === 'https:';
  return { host: url.hostname, port: url.port || (isTls ? '443' : '80'), isTls };
}
