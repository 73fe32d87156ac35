/**
 * Creates the exporter of one signal to one backend. It encodes the data, sends it over the transport of the protocol, and returns
 * the result. It does not retry. If the backend requested a delay, it sends nothing until then.
 *
 * It does not use the exporters of the SDK: docs/decisions/official-exporters.md.
 */
import type { ExporterMetrics } from '@opentelemetry/otlp-exporter-base';
import { reasonOf } from '../../text/errors.ts';
import { createPeerText, urlSecrets } from '../../text/peer-text.ts';
import type { ExporterSettings } from '../otlp-settings.ts';
import { backendAddress } from './backend-address.ts';
import type { Answer, Exporter, ExportResult, Failure } from './exporter.ts';
import { createGrpcTransport } from './grpc-exporter.ts';
import { createHttpTransport } from './http-exporter.ts';
import { likelyCause } from './likely-cause.ts';
import { readPartialSuccess } from './partial-success.ts';
import type { Signal } from './signal.ts';

/** Longest delay that is respected, so that a backend that requests more by mistake is not without metrics for longer. */
const THROTTLE_MAX_MS = 5 * 60_000;

/**
 * Reads the files of the settings once. It connects with the first export.
 *
 * @throws CeleryOtelError `CONFIG_INVALID` for an unusable endpoint, header or file
 */
export function createExporter<Data>(settings: ExporterSettings, signal: Signal<Data>): Exporter<Data> {
  const encoding = settings.protocol === 'http/json' ? 'json' : 'protobuf';
  const encode = signal.encode[encoding];
  const isGrpc = settings.protocol === 'grpc';
  const transport = isGrpc ? createGrpcTransport(settings, signal) : createHttpTransport(settings, encoding);
  const address = backendAddress(settings);
  const secrets = [...Object.values(settings.headers), ...urlSecrets(settings.endpoint)].filter(Boolean);
  const peerText = createPeerText([...secrets, ...urlSecrets(settings.proxy ?? '')]);
  const situation = {
    address,
    signal,
    hasClientCertificate: settings.clientCertificateFile !== undefined,
    hasSecrets: secrets.length > 0,
  };
  /** Until when the backend requested to be sent no data, and why. */
  let throttle = { untilMs: -Infinity, reason: '' };
  let hasWorked = false;
  let exporterMetrics: ExporterMetrics<Data> | undefined;

  async function send(data: Data): Promise<Answer> {
    const leftMs = throttle.untilMs - performance.now();
    if (leftMs > 0) {
      const left = `throttled by the backend for another ${Math.ceil(leftMs / 1000)} s`;
      return unsent('unavailable', `${throttle.reason}; ${left}`);
    }
    try {
      return await transport.send(encode(data));
    } catch (error) {
      return unsent('refused', `the request could not be created: ${reasonOf(error)}`);
    }
  }

  function resultOf(answer: Answer): ExportResult {
    if (answer.kind === 'taken') {
      const partial = readPartialSuccess(answer.response, answer.encoding, signal);
      if (partial === undefined) return { kind: 'success' };
      return { kind: 'partial', ...partial, message: peerText(partial.message) };
    }
    const { kind, symptom } = answer;
    const cause = symptom === undefined ? undefined : likelyCause(symptom, { ...situation, hasWorked });
    const reason = peerText(answer.reason);
    return { kind, reason: cause === undefined ? reason : `${cause} (${reason})` };
  }

  return {
    backend: address.label,
    encode,
    async export(data) {
      const finished = exporterMetrics?.startExport(data);
      const answer = await send(data);
      finished?.(answer.kind === 'taken' ? undefined : answer.error);
      const result = resultOf(answer);
      hasWorked ||= answer.kind === 'taken';
      if (answer.kind === 'unavailable' && answer.retryAfterMs !== undefined) {
        const forMs = Math.min(answer.retryAfterMs, THROTTLE_MAX_MS);
        throttle = { untilMs: performance.now() + forMs, reason: answer.reason };
      }
      return result;
    },
    observe(meterProvider) {
      exporterMetrics = signal.observed[isGrpc ? 'grpc' : 'http'](settings.endpoint, meterProvider);
    },
    close: transport.close,
  };
}

function unsent(kind: Failure['kind'], reason: string): Failure {
  return { kind, reason, error: new Error(reason) };
}
