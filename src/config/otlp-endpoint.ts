/**
 * Where OTLP/gRPC requests go, read as the official exporter reads it, but refusing what that one drops without a word:
 * a path, credentials in the address, a port it cannot keep.
 */
import { type Format, format, type Reading } from './formats.ts';
import { maskUrl, quote } from './redaction.ts';

const EXPECTS = 'http://host:port, https://host[:port], host:port or unix:///path';

/**
 * An address in the form that the exporter understands: the scheme in lower case, because it compares letter by letter
 * and would otherwise speak TLS to `HTTP://`.
 */
export const otlpEndpoint: Format<string> = format(EXPECTS, read, {
  show: (text) => (text.includes('@') ? maskUrl(text) : quote(text)),
});

function read(text: string): Reading<string> | undefined {
  // URL parsers drop line breaks and tabs, wherever they are.
  if (/[\s\p{Cc}]/u.test(text)) return undefined;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'unix')
    return /^unix:\/\/\/./i.test(text) ? { ok: true, value: `unix${text.slice(4)}` } : undefined;
  // Without a scheme the exporter, too, lets a URL parser find the host by putting https:// before it.
  const url = URL.parse(scheme === undefined ? `https://${text}` : text);
  if (url === null || url.hostname === '') return undefined;
  if (url.username !== '' || url.password !== '')
    return refuse('no user or password in it; use headers for credentials');
  if (/[?#]/.test(text) || url.pathname !== '/') {
    return refuse('no path after the host: gRPC has none (an address for OTLP over HTTP does not fit)');
  }
  const rest = text.slice(scheme === undefined ? 0 : scheme.length + 3).replace(/\/$/, '');
  switch (scheme) {
    case undefined:
      return hasPort(rest) ? { ok: true, value: rest } : refuse('a port, as in host:4317');
    case 'https':
      return { ok: true, value: `https://${rest}` };
    case 'http':
      // The exporter loses :80 together with http://, and gRPC then goes to 443, its only default.
      if (url.port !== '') return { ok: true, value: `http://${rest}` };
      return refuse(
        hasPort(rest)
          ? 'another form for port 80: host:80 without scheme, and insecure=true'
          : 'a port, as in http://host:4317',
      );
    default:
      return undefined;
  }
}

function hasPort(hostAndPort: string): boolean {
  return /:\d+$/.test(hostAndPort);
}

function refuse(reason: string): Reading<string> {
  return { ok: false, expected: `${EXPECTS}; ${reason}` };
}
