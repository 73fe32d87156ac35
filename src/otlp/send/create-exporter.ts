/**
 * Builds the exporter of one backend: encodes with the SDK's serializers, sends over the transport of the protocol, and
 * says what became of it. It does not try again, and a backend that asks for a rest gets it.
 *
 * Why not the SDK's exporters or the delegates below them: the exporters add `OTEL_EXPORTER_OTLP_HEADERS` and others of
 * the environment to what they are given, which would send the secrets of one backend to another. The delegates tell of
 * a failure neither status nor message and nothing at all of a partial success, retry over HTTP with data that the next
 * export has anew, time the silence of a backend instead of the request, and leave connections open.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { ExporterMetrics } from '@opentelemetry/otlp-exporter-base';
import { createOtlpHttpExporterMetrics } from '@opentelemetry/otlp-exporter-base/node-http';
import { createOtlpGrpcExporterMetrics } from '@opentelemetry/otlp-grpc-exporter-base';
import {
  JsonMetricsSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
} from '@opentelemetry/otlp-transformer';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ExporterSettings } from '../otlp-settings.ts';
import { createReasonText } from './export-reason.ts';
import type { Exporter, ExportResult } from './exporter.ts';
import type { Answer, ExporterTransport, Failure } from './exporter-transport.ts';
import { createGrpcTransport } from './grpc-exporter.ts';
import { createHttpTransport } from './http-exporter.ts';
import { readPartialSuccess } from './partial-success.ts';

interface Protocol {
  readonly encode: (metrics: ResourceMetrics) => Uint8Array | undefined;
  readonly open: (settings: ExporterSettings) => ExporterTransport;
  /** The SDK's own metrics of exporters, under the component type that its exporter of this protocol has. */
  readonly observed: (endpoint: string, meterProvider: MeterProvider) => ExporterMetrics<ResourceMetrics>;
}

const observedHttp: Protocol['observed'] = (endpoint, meterProvider) =>
  createOtlpHttpExporterMetrics(
    'otlp_http_metric_exporter',
    MetricsExporterMetricsHelper,
    endpoint,
    meterProvider,
  );

const PROTOCOLS: Readonly<Record<ExporterSettings['protocol'], Protocol>> = {
  grpc: {
    encode: ProtobufMetricsSerializer.serializeRequest,
    open: createGrpcTransport,
    observed: (endpoint, meterProvider) =>
      createOtlpGrpcExporterMetrics(
        'otlp_grpc_metric_exporter',
        MetricsExporterMetricsHelper,
        endpoint,
        meterProvider,
      ),
  },
  'http/protobuf': {
    encode: ProtobufMetricsSerializer.serializeRequest,
    open: (settings) => createHttpTransport(settings, 'protobuf'),
    observed: observedHttp,
  },
  'http/json': {
    encode: JsonMetricsSerializer.serializeRequest,
    open: (settings) => createHttpTransport(settings, 'json'),
    observed: observedHttp,
  },
};

/** A backend that asks for more is asked again after this: by mistake it would silence the bridge for good. */
const REST_MAX_MS = 5 * 60_000;

/**
 * Reads the files of the settings, once, and connects with the first export.
 *
 * @throws CeleryOtelError `CONFIG_INVALID` for an endpoint, a header or a file that cannot be used
 */
export function createExporter(settings: ExporterSettings): Exporter {
  const { encode, open, observed } = PROTOCOLS[settings.protocol];
  const transport = open(settings);
  const reasonText = createReasonText([
    ...Object.values(settings.headers),
    ...querySecrets(settings.endpoint),
  ]);
  const rest = { untilMs: 0, reason: '' };
  let exporterMetrics: ExporterMetrics<ResourceMetrics> | undefined;

  async function ask(metrics: ResourceMetrics): Promise<Answer> {
    const restMs = rest.untilMs - performance.now();
    if (restMs > 0) {
      return unavailable(`${rest.reason}; asked for a rest of another ${Math.ceil(restMs / 1000)} s`);
    }
    try {
      const body = encode(metrics);
      return body === undefined ? refused('nothing was encoded') : await transport.send(body);
    } catch (error) {
      return refused(`no request could be made: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  return {
    async export(metrics) {
      const finished = exporterMetrics?.startExport(metrics);
      const answer = await ask(metrics);
      finished?.(answer.kind === 'taken' ? undefined : answer.error);
      const result = resultOf(answer, reasonText);
      if (answer.kind === 'unavailable' && answer.restMs !== undefined) {
        rest.untilMs = performance.now() + Math.min(answer.restMs, REST_MAX_MS);
        rest.reason = answer.reason;
      }
      return result;
    },
    observe(meterProvider) {
      exporterMetrics = observed(settings.endpoint, meterProvider);
    },
    close: transport.close,
  };
}

function resultOf(answer: Answer, reasonText: (text: string) => string): ExportResult {
  switch (answer.kind) {
    case 'taken': {
      const partial = readPartialSuccess(answer.response, answer.encoding);
      if (partial === undefined) return { kind: 'success' };
      return { kind: 'partial', ...partial, message: reasonText(partial.message) };
    }
    case 'unavailable':
    case 'refused':
      return { kind: answer.kind, reason: reasonText(answer.reason) };
  }
}

function unavailable(reason: string): Failure {
  return { kind: 'unavailable', reason, error: new Error(reason) };
}

function refused(reason: string): Failure {
  return { kind: 'refused', reason, error: new Error(reason) };
}

/** What a backend may repeat of the query of its endpoint, as it is written and as it is meant. */
function querySecrets(endpoint: string): readonly string[] {
  const query = URL.parse(endpoint)?.search.slice(1) ?? '';
  const written = query.split('&').map((pair) => pair.replace(/^[^=]*=/u, ''));
  return [query, ...written, ...new URLSearchParams(query).values()].filter((secret) => secret !== '');
}
