/** A pipeline under test with what it tells, and a backend to which it exports. */
import type { TestContext } from 'node:test';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import type { EndedExport } from '../../src/otlp/backend.ts';
import { createPipeline, type Pipeline } from '../../src/otlp/pipeline.ts';
import type { Provider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { otlpSettings, type SettingsOverrides } from './settings.ts';

/** Until the end of the test. */
export async function receiver(t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> {
  const started = await startReceiver(options);
  t.after(() => started.stop());
  return started;
}

interface WorkerReport {
  readonly pipeline: Pipeline;
  readonly outcomes: (EndedExport & { readonly name: string })[];
  readonly defects: unknown[];
  readonly open: (name: string) => Provider;
}

export function pipelineTo(t: TestContext, url: string, overrides: SettingsOverrides = {}): WorkerReport {
  const outcomes: WorkerReport['outcomes'] = [];
  const defects: unknown[] = [];
  const pipeline = createPipeline({
    settings: otlpSettings(url, overrides),
    onExport: (name, outcome) => outcomes.push({ name, ...outcome }),
    onDefect: (name, reason) => defects.push([name, reason]),
    random: () => 0,
    yieldToLoop: createYieldToLoop(),
  });
  t.after(() => pipeline.close([], 0));
  const open = (name: string): Provider =>
    pipeline.open(name, serviceResource(name, { team: 'checkout' }), { combination: () => 'sum' });
  return { pipeline, outcomes, defects, open };
}

export function count(provider: Provider, amount: number): void {
  provider
    .getMeter('celery-otel', '1.2.3')
    .createCounter('celery.task.sent', { unit: '{task}' })
    .add(amount, { queue: 'q' });
}
