/**
 * The protocols of the exporter as one table, each with a scripted backend: every test runs for each row.
 */

import type { TestContext } from 'node:test';
import type { TlsOptions } from 'node:tls';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AggregationTemporality, DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ExporterSettings } from '../../../src/otlp/otlp-settings.ts';
import { createExporter } from '../../../src/otlp/send/create-exporter.ts';
import type { Exporter } from '../../../src/otlp/send/exporter.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { otlpSettings } from '../settings.ts';
import { type PartialSuccessMessage, responseBytes, statusBytes } from './backend-messages.ts';
import { type GrpcReceiver, respondGrpc, startGrpcReceiver } from './grpc-receiver.ts';
import { type HttpReceiver, startHttpReceiver } from './http-receiver.ts';

export type Protocol = ExporterSettings['protocol'];

/** The responses that any backend can be told to give. */
export type BackendAnswer =
  | { readonly kind: 'take'; readonly partial?: PartialSuccessMessage }
  /** As an overloaded backend, which may say when to retry, s. */
  | { readonly kind: 'busy'; readonly message: string; readonly retryAfterS?: number }
  | { readonly kind: 'refuse'; readonly message: string }
  /** Never. */
  | { readonly kind: 'nothing' };

type Receiver = GrpcReceiver | HttpReceiver;

/** A receiver, and where an exporter finds it. */
export interface Backend extends Pick<Receiver, 'port' | 'requests' | 'connections' | 'accepted' | 'stop'> {
  readonly endpoint: string;
  answer(answer: BackendAnswer): void;
}

interface BackendOptions {
  readonly port?: number;
  readonly host?: string;
  readonly tls?: TlsOptions;
}

export const BACKENDS: readonly {
  readonly protocol: Protocol;
  readonly start: (options?: BackendOptions) => Promise<Backend>;
}[] = [
  { protocol: 'grpc', start: startGrpc },
  { protocol: 'http/protobuf', start: (options = {}) => startHttp('application/x-protobuf', options) },
  { protocol: 'http/json', start: (options = {}) => startHttp('application/json', options) },
];

async function startGrpc(options: BackendOptions = {}): Promise<Backend> {
  const receiver = await startGrpcReceiver(options);
  return {
    ...receiver,
    endpoint: `${schemeOf(options)}://${options.host ?? '127.0.0.1'}:${receiver.port}`,
    answer: (answer) =>
      receiver.answerWith((stream) => {
        switch (answer.kind) {
          case 'take':
            return respondGrpc(stream, { response: responseBytes(answer.partial) });
          case 'busy': {
            const details =
              answer.retryAfterS === undefined
                ? {}
                : { details: statusBytes({ retryDelayMs: answer.retryAfterS * 1000 }) };
            return respondGrpc(stream, { status: 14, message: answer.message, ...details });
          }
          case 'refuse':
            return respondGrpc(stream, { status: 3, message: answer.message });
          case 'nothing':
            return undefined;
        }
      }),
  };
}

async function startHttp(contentType: string, options: BackendOptions): Promise<Backend> {
  const receiver = await startHttpReceiver(options);
  const json = contentType === 'application/json';
  const status = (message: string) => (json ? JSON.stringify({ message }) : statusBytes({ message }));
  return {
    ...receiver,
    endpoint: `${schemeOf(options)}://${options.host ?? '127.0.0.1'}:${receiver.port}/v1/metrics`,
    answer: (answer) =>
      receiver.answerWith((response) => {
        response.setHeader('content-type', contentType);
        switch (answer.kind) {
          case 'take': {
            const partialSuccess = answer.partial;
            return response.end(json ? JSON.stringify({ partialSuccess }) : responseBytes(partialSuccess));
          }
          case 'busy':
            if (answer.retryAfterS !== undefined) response.setHeader('retry-after', answer.retryAfterS);
            response.writeHead(503);
            return response.end(status(answer.message));
          case 'refuse':
            response.writeHead(400);
            return response.end(status(answer.message));
          case 'nothing':
            return undefined;
        }
      }),
  };
}

function schemeOf({ tls }: BackendOptions): string {
  return tls === undefined ? 'http' : 'https';
}

export function exporterSettings(
  protocol: Protocol,
  endpoint: string,
  overrides: Partial<ExporterSettings> = {},
): ExporterSettings {
  return otlpSettings(endpoint, { exporter: { protocol, ...overrides } }).exporter;
}

/** Stopped at the end of the test. */
export async function backendOf(
  t: TestContext,
  start: (options?: BackendOptions) => Promise<Backend>,
  options: BackendOptions = {},
): Promise<Backend> {
  const backend = await start(options);
  t.after(() => backend.stop());
  return backend;
}

/** Closed at the end of the test. */
export function exporterOf(t: TestContext, settings: ExporterSettings): Exporter<ResourceMetrics> {
  const exporter = createExporter(settings, SIGNALS.metrics);
  t.after(() => exporter.close());
  return exporter;
}

/** A counter and a histogram with one point each, and one attribute of each type. */
export function sampleMetrics(): ResourceMetrics {
  const startTime: [number, number] = [1_700_000_000, 1];
  const endTime: [number, number] = [1_700_000_060, 999_999_999];
  const attributes = { queue: 'mäßig', retries: 3, ratio: 0.5, eager: true, tags: ['a', 'b'] };
  const point = { startTime, endTime, attributes };
  const described = (name: string, unit: string) => ({ name, unit, description: `${name}.`, valueType: 1 });
  return {
    resource: resourceFromAttributes({ 'service.name': 'shop', 'service.version': '1' }),
    scopeMetrics: [
      {
        scope: { name: 'celery-otel', version: '1.2.3' },
        metrics: [
          {
            descriptor: described('celery.task.sent', '{task}'),
            dataPointType: DataPointType.SUM,
            aggregationTemporality: AggregationTemporality.CUMULATIVE,
            isMonotonic: true,
            dataPoints: [{ ...point, value: 7 }],
          },
          {
            descriptor: described('celery.task.runtime', 's'),
            dataPointType: DataPointType.HISTOGRAM,
            aggregationTemporality: AggregationTemporality.DELTA,
            dataPoints: [
              {
                ...point,
                value: {
                  count: 3,
                  sum: 8.75,
                  min: 0.25,
                  max: 8,
                  buckets: { boundaries: [1], counts: [2, 1] },
                },
              },
            ],
          },
        ],
      },
    ],
  };
}
