/**
 * Sends OTLP over gRPC: one unary call per request, over one connection. It does not retry: the export loop does, with back-off
 * and newer data.
 *
 * After a failed call, the next call opens a new connection. Otherwise grpc-js would decide when to reconnect: its back-off grows
 * to two minutes, and it resolves a name at most twice a minute. A connection that died silently causes one failed call.
 */
import { type ClientOptions, compressionAlgorithms, credentials, Metadata } from '@grpc/grpc-js';
import { VERSION } from '../../self/version.ts';
import { CeleryOtelError } from '../../text/errors.ts';
import type { ExporterSettings } from '../otlp-settings.ts';
import { backendAddress } from './backend-address.ts';
import { backendSecureContext } from './backend-tls.ts';
import type { Answer, ExporterTransport } from './exporter.ts';
import { judgeGrpcError } from './grpc-answer.ts';
import { type GrpcConnection, openGrpcConnection } from './grpc-connection.ts';
import type { Signal } from './signal.ts';

/** @throws CeleryOtelError `CONFIG_INVALID` */
export function createGrpcTransport(
  settings: ExporterSettings,
  { grpcMethod }: Pick<Signal<never>, 'grpcMethod'>,
): ExporterTransport {
  const { target, plain } = readEndpoint(settings);
  // `credentials.createSsl` is not used, because it reads CA certificates and ciphers from the environment.
  const tls = plain ? undefined : backendSecureContext(settings);
  const trust = () =>
    tls === undefined ? credentials.createInsecure() : credentials.createFromSecureContext(tls);
  const metadata = readHeaders(settings.headers);
  const options = { ...channelOptions(settings.compression), ...proxyOptions(settings) };
  /** The current connection, and replaced ones that still have calls in progress. */
  const open = new Set<GrpcConnection>();
  let current: GrpcConnection | undefined;
  let closed = false;

  function connect(): GrpcConnection {
    const connection = openGrpcConnection(target, trust(), options, {
      proxied: proxyOf(settings) !== undefined,
      timeoutMs: settings.timeoutMs,
    });
    open.add(connection);
    return connection;
  }

  function closeReplaced(): void {
    for (const connection of open) {
      if (connection === current || !connection.isIdle()) continue;
      connection.close();
      open.delete(connection);
    }
  }

  return {
    async send(body): Promise<Answer> {
      if (closed) {
        const error = new Error('the exporter was closed');
        return { kind: 'unavailable', reason: error.message, error };
      }
      current ??= connect();
      const connection = current;
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const outcome = await connection.request(grpcMethod, bytes, metadata, Date.now() + settings.timeoutMs);
      const hasFailed = outcome instanceof Error;
      if (hasFailed && current === connection) current = undefined;
      closeReplaced();
      return hasFailed
        ? judgeGrpcError(outcome, settings.timeoutMs)
        : { kind: 'taken', response: outcome, encoding: 'protobuf' };
    },
    close() {
      closed = true;
      for (const connection of open) connection.close();
      open.clear();
      current = undefined;
    },
  };
}

/** The target always has a port, because the default port of gRPC is 443. */
function readEndpoint(settings: ExporterSettings): { readonly target: string; readonly plain: boolean } {
  const { host, port, isTls } = backendAddress(settings);
  const proxy = proxyOf(settings);
  if (proxy !== undefined) return { target: `dns:${proxy.hostname}:${proxy.port || '80'}`, plain: !isTls };
  if (!/^https?:\/\//iu.test(settings.endpoint)) return { target: settings.endpoint, plain: !isTls };
  if (host === '')
    throw new CeleryOtelError('CONFIG_INVALID', 'The endpoint of OTLP over gRPC is not a valid URL.');
  return { target: `${host}:${port}`, plain: !isTls };
}

function proxyOf({ proxy }: ExporterSettings): URL | undefined {
  return proxy === undefined ? undefined : (URL.parse(proxy) ?? undefined);
}

/** The options that grpc-js sets for a proxy from the environment (grpc-js: http_proxy.ts, `mapProxyName`). */
function proxyOptions(settings: ExporterSettings): ClientOptions {
  const proxy = proxyOf(settings);
  if (proxy === undefined) return {};
  const { host, port } = backendAddress(settings);
  const backend = `${host}:${port}`;
  return {
    'grpc.http_connect_target': `dns:${backend}`,
    'grpc.default_authority': backend,
    ...(proxy.username === '' ? {} : { 'grpc.http_connect_creds': credentialsOf(proxy) }),
  };
}

function credentialsOf({ username, password }: URL): string {
  return decodeURIComponent(password === '' ? username : `${username}:${password}`);
}

function readHeaders(headers: ExporterSettings['headers']): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    try {
      // gRPC sends such headers as bytes, in base64.
      metadata.set(name, /-bin$/iu.test(name) ? Buffer.from(value) : value);
    } catch {
      // The message of grpc-js may contain the value.
      throw new CeleryOtelError('CONFIG_INVALID', `The header ${name} has characters that gRPC cannot send.`);
    }
  }
  return metadata;
}

function channelOptions(compression: ExporterSettings['compression']): ClientOptions {
  return {
    'grpc.primary_user_agent': `celery-otel/${VERSION} (Node.js)`,
    'grpc.default_compression_algorithm': compressionAlgorithms[compression === 'gzip' ? 'gzip' : 'identity'],
    // Only the settings decide where and how often requests are sent: no proxy from the environment, no service config from DNS.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    // Channelz would keep an unused history of every channel.
    'grpc.enable_channelz': 0,
  };
}
