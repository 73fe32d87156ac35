/** Parses the address of a backend from the settings, and makes a label for logs. Pure. */
import type { ExporterSettings } from '../otlp-settings.ts';

export interface BackendAddress {
  readonly protocol: ExporterSettings['protocol'];
  readonly isTls: boolean;
  /** '' if the endpoint is not a network address. */
  readonly host: string;
  readonly port: string;
  /** The path of the URL, for HTTP. */
  readonly path: string;
  /** Host and port of the proxy; absent if there is none. */
  readonly proxy?: string;
  /** Endpoint and protocol for logs, without credentials and query. */
  readonly label: string;
}

type Place = Omit<BackendAddress, 'protocol' | 'label' | 'proxy'>;

const HIDDEN = '***';

export function backendAddress({
  protocol,
  endpoint,
  insecure,
  proxy,
}: Pick<ExporterSettings, 'protocol' | 'endpoint' | 'insecure' | 'proxy'>): BackendAddress {
  const place = placeOf(endpoint, insecure);
  const label = `${shown(endpoint, place)} (${protocol})`;
  if (proxy === undefined) return { protocol, ...place, label };
  const through = URL.parse(proxy)?.host ?? '';
  return { protocol, ...place, proxy: through, label: `${label} through the proxy ${through}` };
}

/** The scheme decides whether TLS is used; without a scheme, `insecure` does (OTLP exporter specification, "Endpoint URLs"). */
function placeOf(endpoint: string, insecure: boolean): Place {
  // The `dns:` scheme of gRPC implies nothing about TLS.
  const [, name] = /^dns:\/\/\/(.*)$/iu.exec(endpoint) ?? [];
  if (name !== undefined) return placeOf(name, insecure);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//iu.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    const [, host = '', port = ''] = /^(.*):(\d+)$/u.exec(endpoint) ?? [];
    return { isTls: !insecure, host, port, path: '' };
  }
  const url = scheme === 'http' || scheme === 'https' ? URL.parse(endpoint) : null;
  if (url === null) return { isTls: false, host: '', port: '', path: '' };
  // The URL parser drops the default port of a scheme.
  const port = url.port || (scheme === 'http' ? '80' : '443');
  return { isTls: scheme === 'https', host: url.hostname, port, path: url.pathname };
}

function shown(endpoint: string, { isTls, host, port, path }: Place): string {
  if (!/^https?:/iu.test(endpoint)) return endpoint.replace(/\/\/.*@/u, `//${HIDDEN}@`);
  const query = endpoint.includes('?') ? `?${HIDDEN}` : '';
  return `${isTls ? 'https' : 'http'}://${host}:${port}${path === '/' ? '' : path}${query}`;
}
