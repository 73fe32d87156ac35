/**
 * Builds the official OTLP/gRPC exporter from validated settings. It reads certificate files, once, when it is built;
 * header values go nowhere but into the request.
 */
import { readFileSync } from 'node:fs';
import { type ChannelCredentials, credentials, Metadata } from '@grpc/grpc-js';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import type { OtlpSettings } from './otlp-settings.ts';

export function createGrpcExporter(settings: OtlpSettings): OTLPMetricExporter {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(settings.headers)) metadata.set(key, value);
  return new OTLPMetricExporter({
    url: settings.endpoint,
    metadata,
    credentials: channelCredentials(settings),
    compression: settings.compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
    timeoutMillis: settings.timeoutMs,
  });
}

/** The scheme decides; without one, `insecure` does (OTLP exporter specification, "Endpoint URLs for OTLP/gRPC"). */
function channelCredentials(settings: OtlpSettings): ChannelCredentials {
  const scheme = /^([a-z]+):\/\//iu.exec(settings.endpoint)?.[1]?.toLowerCase();
  const plain = scheme === undefined ? settings.insecure : scheme !== 'https';
  if (plain) return credentials.createInsecure();
  return credentials.createSsl(
    pem(settings.certificateFile),
    pem(settings.clientKeyFile),
    pem(settings.clientCertificateFile),
  );
}

function pem(file: string | undefined): Buffer | null {
  return file === undefined ? null : readFileSync(file);
}
