/** Reads the address of a backend from the settings: what is dialled, and how it may be called in a log. Pure. */
import type { ExporterSettings } from '../otlp-settings.ts';

export interface BackendAddress {
  readonly protocol: ExporterSettings['protocol'];
  readonly isTls: boolean;
  /** '' where it is no address of a network. */
  readonly host: string;
  readonly port: string;
  /** Of a URL for HTTP. */
  readonly path: string;
  /** For people, with the protocol: neither credentials nor a query are in it. */
  readonly label: string;
}

type Place = Omit<BackendAddress, 'protocol' | 'label'>;

const HIDDEN = '***';

export function backendAddress({
  protocol,
  endpoint,
  insecure,
}: Pick<ExporterSettings, 'protocol' | 'endpoint' | 'insecure'>): BackendAddress {
  const place = placeOf(endpoint, insecure);
  return { protocol, ...place, label: `${shown(endpoint, place)} (${protocol})` };
}

/** The scheme decides about TLS; without one, `insecure` does (OTLP exporter specification, "Endpoint URLs"). */
function placeOf(endpoint: string, insecure: boolean): Place {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//iu.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    const [, host = '', port = ''] = /^(.*):(\d+)$/u.exec(endpoint) ?? [];
    return { isTls: !insecure, host, port, path: '' };
  }
  const url = scheme === 'http' || scheme === 'https' ? URL.parse(endpoint) : null;
  if (url === null) return { isTls: false, host: '', port: '', path: '' };
  // A parser leaves out the port that is the default of a scheme.
  const port = url.port || (scheme === 'http' ? '80' : '443');
  return { isTls: scheme === 'https', host: url.hostname, port, path: url.pathname };
}

function shown(endpoint: string, { isTls, host, port, path }: Place): string {
  if (!/^https?:/iu.test(endpoint)) return endpoint.replace(/\/\/.*@/u, `//${HIDDEN}@`);
  const query = endpoint.includes('?') ? `?${HIDDEN}` : '';
  return `${isTls ? 'https' : 'http'}://${host}:${port}${path === '/' ? '' : path}${query}`;
}
