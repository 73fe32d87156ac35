/**
 * A process that exports once with the settings it is given as JSON, closes its exporter and ends by itself if nothing
 * is left open. It says how the export ended. For what only a process of its own shows: its environment, and its end.
 *
 * With `close-under-way` it closes the exporter as soon as there is a connection, and waits for the result only then.
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
