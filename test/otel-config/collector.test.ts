/** The example configuration of the Collector, run by a real Collector and scraped by a real Prometheus. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { DEADLINE_MS } from '../deadline.ts';
import { startBridge } from '../e2e/bridge-process.ts';
import { isPortOpen } from '../real/free-port.ts';
import {
  COLLECTOR_CONFIG_FILE,
  type Otelcol,
  skipWithoutOtelcol,
  startOtelcol,
  validateOtelcolConfig,
} from '../real/otelcol.ts';
import { type Prometheus, startPrometheus } from '../real/prometheus.ts';

const TEXT = readFileSync(COLLECTOR_CONFIG_FILE, 'utf8');
/** With the commented-out parts. Prose has one space after its #. */
const UNCOMMENTED = TEXT.replaceAll(/^( {2,})#(?=\S| {2})/gm, '$1');
/** A backend that records its requests. */
const BACKEND = `
receivers: { otlp: { protocols: { grpc: { endpoint: "\${env:OTLP_GRPC_ENDPOINT}" } } } }
exporters:
  file: { path: "\${env:RECEIVED}", flush_interval: 100ms }
  file/traces: { path: "\${env:RECEIVED}.traces", flush_interval: 100ms }
service:
  pipelines:
    metrics: { receivers: [otlp], exporters: [file] }
    traces: { receivers: [otlp], exporters: [file/traces] }
  telemetry: { metrics: { level: none } }
`;
/** A line of the Collector's log; it has one for each series that it would have to serve twice. */
const COMPLAINT = /\t(?:warn|error)\t/;
const DELTA = 1;
const CUMULATIVE = 2;

/** The demo's recording has this workflow, the last task of which sends the receipt. */
const SHOP = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
const WORKFLOW = '6e1cc405-1a6c-4b99-9732-f0e1958ef9f6';
const RECEIPT = '6fd3aeaf-9dac-4b47-b54d-a1534dd6de29';

/** A line of what the backend records of spans. */
interface WrittenSpans {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly {
          readonly key: string;
          readonly value: { readonly stringValue?: string };
        }[];
      }[];
    }[];
  }[];
}

type Attributes = Readonly<Record<string, string>>;

/** A sum with one point, as OTLP has it. */
interface SentSum {
  readonly resource: Attributes;
  readonly scopeVersion?: string;
  readonly name: string;
  readonly attributes?: Attributes;
  readonly value: number;
  readonly temporality: typeof DELTA | typeof CUMULATIVE;
  readonly startS: number;
  readonly endS: number;
}

const keyValues = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** A request of OTLP as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
function otlpJson(sum: SentSum): object {
  const point = {
    attributes: keyValues(sum.attributes ?? {}),
    startTimeUnixNano: `${sum.startS}000000000`,
    timeUnixNano: `${sum.endS}000000000`,
    asInt: String(sum.value),
  };
  const metric = {
    name: sum.name,
    unit: '{task}',
    sum: { aggregationTemporality: sum.temporality, isMonotonic: true, dataPoints: [point] },
  };
  const scope = { name: 'celery-otel', version: sum.scopeVersion ?? '1.0.0' };
  const resource = { attributes: keyValues(sum.resource) };
  return { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics: [metric] }] }] };
}

async function sendSum(collector: Otelcol, sum: SentSum): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${collector.ports.otlpHttp}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(otlpJson(sum)),
  });
  assert.equal(response.status, 200, await response.text());
}

describe('otel-config/collector.yaml', { skip: skipWithoutOtelcol() }, () => {
  let collector: Otelcol;
  let prometheus: Prometheus;

  before(async () => {
    collector = await startOtelcol();
    const targets = [`127.0.0.1:${collector.ports.prometheus}`];
    prometheus = await startPrometheus({ scrape: [{ job: 'otel-collector', targets, intervalMs: 200 }] });
  });
  after(async () => {
    await prometheus.stop();
    await collector.stop();
    for (const port of [prometheus.port, ...Object.values(collector.ports)]) {
      assert.equal(await isPortOpen(port), false);
    }
  });

  test('it is valid without any variable', () => validateOtelcolConfig());

  test('it is valid with the commented-out parts', async () => {
    assert.match(UNCOMMENTED, /^ {4}metrics\/onward:$/m);
    const env = { BACKEND_OTLP_ENDPOINT: 'https://otlp.example.com:4317', BACKEND_AUTHORIZATION: 'Bearer x' };
    await validateOtelcolConfig({ configText: UNCOMMENTED, env });
  });

  for (const [what, search, replacement, complaint] of [
    ['an unknown processor', '[memory_limiter, delta', '[memory_limiter, nowhere, delta', /nowhere/],
    ['a wrong option', 'without_scope_info: true', 'without_scope: true', /invalid keys: without_scope\b/],
    ['a wrong statement', 'set(scope.version', 'set(scope.versions', /invalid path|versions/],
  ] as const) {
    test(`${what} in it is refused`, async () => {
      assert.ok(TEXT.includes(search));
      await assert.rejects(
        validateOtelcolConfig({ configText: TEXT.replace(search, replacement) }),
        complaint,
      );
    });
  }

  test('it is healthy, without errors in its own metrics and log', async () => {
    assert.equal(await collector.isHealthy(), true);
    const own = await fetch(`http://127.0.0.1:${collector.ports.own}/metrics`);
    assert.match(await own.text(), /^otelcol_process_uptime/m);
    assert.doesNotMatch(collector.log(), COMPLAINT);
  });

  describe('metrics over OTLP/gRPC', () => {
    before(async () => {
      const exporter = new OTLPMetricExporter({ url: `http://127.0.0.1:${collector.ports.otlpGrpc}` });
      const provider = new MeterProvider({
        resource: resourceFromAttributes({ 'service.name': 'shop', 'host.name': 'bridge-1' }),
        readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 600_000 })],
      });
      const meter = provider.getMeter('celery-otel', '1.0.0');
      const task = { 'celery.task.name': 'shop.charge_card', 'celery.queue.name': 'orders' };
      meter.createCounter('celery.task.sent', { unit: '{task}' }).add(3, task);
      meter
        .createGauge('celery.worker.up', { unit: '{worker}' })
        .record(1, { 'celery.worker.name': 'celery@a' });
      const advice = { explicitBucketBoundaries: [0.5, 1] };
      meter.createHistogram('celery.task.runtime', { unit: 's', advice }).record(0.75, task);
      await provider.shutdown();
    });

    const task = 'celery_queue_name="orders",celery_task_name="shop.charge_card"';

    for (const [what, line] of [
      ['a counter has its kind in its name', `celery_task_sent_total{${task},instance="shop",job="shop"} 3`],
      [
        'a gauge has its plain name',
        'celery_worker_up{celery_worker_name="celery@a",instance="shop",job="shop"} 1',
      ],
      [
        'a histogram is in seconds',
        `celery_task_runtime_seconds_bucket{${task},instance="shop",job="shop",le="1"} 1`,
      ],
      [
        'further attributes of the resource are on target_info only',
        'target_info{host_name="bridge-1",instance="shop",job="shop"} 1',
      ],
    ] as const) {
      test(what, () => collector.untilMetricsLine(line));
    }

    test('Prometheus has them, with the Celery service as job', async () => {
      const query = 'celery_task_sent_total * on (job, instance) group_left (host_name) target_info';
      assert.deepEqual(await prometheus.untilSamples(query), [
        {
          labels: {
            celery_queue_name: 'orders',
            celery_task_name: 'shop.charge_card',
            host_name: 'bridge-1',
            instance: 'shop',
            job: 'shop',
          },
          value: 3,
        },
      ]);
    });
  });

  test('deltas are added up, also over idle intervals', async () => {
    const sum = {
      resource: { 'service.name': 'delta' },
      name: 'celery.task.started',
      temporality: DELTA,
    } as const;
    const beginS = Math.floor(Date.now() / 1000) - 100;
    await sendSum(collector, { ...sum, value: 5, startS: beginS, endS: beginS + 10 });
    await collector.untilMetricsLine('celery_task_started_total{instance="delta",job="delta"} 5');
    await sendSum(collector, { ...sum, value: 2, startS: beginS + 10, endS: beginS + 20 });
    await collector.untilMetricsLine('celery_task_started_total{instance="delta",job="delta"} 7');
    await sendSum(collector, { ...sum, value: 1, startS: beginS + 60, endS: beginS + 70 });
    await collector.untilMetricsLine('celery_task_started_total{instance="delta",job="delta"} 8');
  });

  test('after an upgrade of the sender no series is duplicated', async () => {
    const sum = {
      resource: { 'service.name': 'upgraded' },
      name: 'celery.task.started',
      temporality: CUMULATIVE,
    } as const;
    const nowS = Math.floor(Date.now() / 1000);
    await sendSum(collector, { ...sum, scopeVersion: '1.0.0', value: 9, startS: nowS - 20, endS: nowS - 10 });
    await collector.untilMetricsLine('celery_task_started_total{instance="upgraded",job="upgraded"} 9');
    await sendSum(collector, { ...sum, scopeVersion: '1.1.0', value: 2, startS: nowS - 5, endS: nowS });
    await collector.untilMetricsLine('celery_task_started_total{instance="upgraded",job="upgraded"} 2');
    assert.doesNotMatch(collector.log(), COMPLAINT);
  });

  test('one service in two environments is two services, and its own instance id is kept', async () => {
    const endS = Math.floor(Date.now() / 1000);
    const sum = { name: 'celery.task.started', temporality: CUMULATIVE, startS: endS - 10, endS } as const;
    for (const [value, environment] of ['prod', 'staging'].entries()) {
      const resource = {
        'service.name': 'twice',
        'deployment.environment.name': environment,
        'service.instance.id': 'bridge-2',
      };
      await sendSum(collector, { ...sum, resource, value });
      const labels = `deployment_environment_name="${environment}",instance="bridge-2",job="twice"`;
      await collector.untilMetricsLine(`celery_task_started_total{${labels}} ${value}`);
    }
  });

  test('with the commented-out parts, a backend gets the metrics unchanged', async (t) => {
    const { gateway, received } = await startGateway(t);
    const resource = { 'service.name': 'onward' };
    const attributes = { 'celery.task.name': 'shop.charge_card' };
    const sum = {
      resource,
      attributes,
      name: 'celery.task.started',
      temporality: DELTA,
      startS: 10,
      endS: 20,
    } as const;
    await sendSum(gateway, { ...sum, value: 4 });
    const text = await t.waitFor(
      () => {
        const written = readFileSync(received, 'utf8');
        assert.notEqual(written, '');
        return written;
      },
      { timeout: DEADLINE_MS },
    );
    assert.deepEqual(JSON.parse(text), otlpJson({ ...sum, value: 4 }));
  });

  test('with the commented-out parts, a trace is found in a backend by the id of a task, and shows its workflow', async (t) => {
    const { gateway, received } = await startGateway(t);
    const bridge = startBridge(t, {
      CELERY_BROKER_URL: `recording:${SHOP}?speed=max`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${gateway.ports.otlpGrpc}`,
      OTEL_TRACES_EXPORTER: 'otlp',
    });
    assert.equal((await bridge.ended()).code, 0);
    await gateway.stop();
    // What the gateway sent last is written by then.
    const lines = await t.waitFor(
      () => {
        const written = readFileSync(`${received}.traces`, 'utf8').trimEnd().split('\n');
        assert.ok(written.length > 1);
        return written;
      },
      { timeout: DEADLINE_MS },
    );
    const spans = lines.flatMap((line) => spansIn(JSON.parse(line)));
    const traceIds = spans.filter(({ taskId }) => taskId === RECEIPT).map(({ traceId }) => traceId);
    assert.deepEqual(new Set(traceIds), new Set([WORKFLOW.replaceAll('-', '')]));
    const trace = spans.filter(({ traceId }) => traceId === traceIds[0]);
    const ofParent = ({ parentSpanId }: FoundSpan) =>
      trace.find(({ spanId }) => spanId === parentSpanId)?.name;
    assert.deepEqual(trace.map((span) => `${ofParent(span) ?? ''} > ${span.name}`).sort(), [
      ' > send shop.check_stock',
      'process shop.charge_card > send shop.pack_parcel',
      'process shop.charge_card > send shop.send_receipt',
      'process shop.check_stock > send shop.charge_card',
      'send shop.charge_card > process shop.charge_card',
      'send shop.check_stock > process shop.check_stock',
      'send shop.pack_parcel > process shop.pack_parcel',
      'send shop.send_receipt > process shop.send_receipt',
    ]);
  });
});

/** The configuration with its commented-out parts, in front of a backend that records. */
async function startGateway(
  t: TestContext,
): Promise<{ readonly gateway: Otelcol; readonly received: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-'));
  const received = join(folder, 'received.json');
  t.after(() => rmSync(folder, { recursive: true }));
  const backend = await startOtelcol({ configText: BACKEND, env: { RECEIVED: received } });
  t.after(() => backend.stop());
  const gateway = await startOtelcol({
    configText: UNCOMMENTED,
    env: {
      BACKEND_OTLP_ENDPOINT: `127.0.0.1:${backend.ports.otlpGrpc}`,
      BACKEND_OTLP_INSECURE: 'true',
      BACKEND_AUTHORIZATION: 'Bearer x',
    },
  });
  t.after(() => gateway.stop());
  return { gateway, received };
}

interface FoundSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly taskId: string | undefined;
}

/** The spans of a request, as OTLP has them in JSON. */
function spansIn(request: WrittenSpans): readonly FoundSpan[] {
  return request.resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ name, traceId, spanId, parentSpanId = '', attributes }) => ({
      ...{ name, traceId, spanId, parentSpanId },
      taskId: attributes.find(({ key }) => key === 'messaging.message.id')?.value.stringValue,
    }));
}
