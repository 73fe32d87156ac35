/**
 * A process that exports once with the given settings (JSON), closes its exporter, and ends by itself if nothing is
 * left open. It prints the result. Its environment and its end need a separate process.
 *
 * With `close-under-way` it closes the exporter once there is a connection, and only then awaits the result.
 */

import type { ExporterSettings } from '../../../src/otlp/otlp-settings.ts';
import { createExporter } from '../../../src/otlp/send/create-exporter.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { sampleMetrics } from './exporter-backends.ts';

const [settingsText = '', mode] = process.argv.slice(2);
const settings: ExporterSettings = JSON.parse(settingsText);
const exporter = createExporter(settings, SIGNALS.metrics);
const exported = exporter.export(sampleMetrics());
if (mode === 'close-under-way') {
  while (!process.getActiveResourcesInfo().includes('TCPSocketWrap'))
    await new Promise((resolve) => setTimeout(resolve, 5));
  exporter.close();
}
process.stdout.write(JSON.stringify(await exported));
exporter.close();
