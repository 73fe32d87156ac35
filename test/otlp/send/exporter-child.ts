/**
 * A process that exports once with each of the given settings (JSON), closes its exporters, and ends by itself if nothing
 * is left open. It prints the results. Its environment and its end need a separate process.
 *
 * With `isClosedUnderWay` it closes the exporter once there is a connection, and only then awaits the result.
 */

import type { ExporterSettings } from '../../../src/otlp/otlp-settings.ts';
import { createExporter } from '../../../src/otlp/send/create-exporter.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { sampleMetrics } from './exporter-backends.ts';

export interface ChildExport {
  readonly settings: ExporterSettings;
  readonly isClosedUnderWay: boolean;
}

/** Waits until there is a connection, or none. Looks in each turn: once HTTP/2 has taken a socket over, it is not seen. */
async function connected(isWanted: boolean): Promise<void> {
  while (process.getActiveResourcesInfo().includes('TCPSocketWrap') !== isWanted)
    await new Promise(setImmediate);
}

const asked: readonly ChildExport[] = JSON.parse(process.argv[2] ?? '');
const results: unknown[] = [];
for (const { settings, isClosedUnderWay } of asked) {
  await connected(false);
  const exporter = createExporter(settings, SIGNALS.metrics);
  const exported = exporter.export(sampleMetrics());
  if (isClosedUnderWay) {
    await connected(true);
    exporter.close();
  }
  results.push(await exported);
  exporter.close();
}
process.stdout.write(JSON.stringify(results));
