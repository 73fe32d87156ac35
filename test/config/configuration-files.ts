/**
 * Configuration files for tests: writes them to temporary folders, loads them, and reports mistakes without the folder.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import type { OptionSources } from '../../src/config/read-options.ts';
import { atExit } from '../real/at-exit.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'celery-otel-files-'));
// Not after the tests of one file: those of others may use it in the same process.
atExit(() => rmSync(FOLDER, { recursive: true }));

/** The output of `celery-otel config --example`. */
export const EXAMPLE_FILE = new URL('../../otel-config/celery-otel.yaml', import.meta.url);
export const EXAMPLE = readFileSync(EXAMPLE_FILE, 'utf8');

/** The same with traces and log records, which are comments there. */
export const EXAMPLE_WITH_TRACES = EXAMPLE.replaceAll(/^( *)#(?! \S)/gmu, '$1');

/** The required part of the standard’s sections, on one line. */
export const METER_PROVIDER = 'meter_provider: { readers: [ { periodic: { exporter: { otlp_grpc: } } } ] }';
const HEAD = `file_format: "1.0"\n${METER_PROVIDER}\n`;

let written = 0;

/** The path of a file with the text. */
export function fileWith(text: string | Buffer): string {
  written += 1;
  const path = join(FOLDER, `${written}.yaml`);
  writeFileSync(path, text);
  return path;
}

export function load(text: string, more: Partial<OptionSources> = {}) {
  return loadConfig({ argv: ['--config', fileWith(text), ...(more.argv ?? [])], env: more.env ?? {} });
}

export function configOf(text: string, more?: Partial<OptionSources>): Config {
  const loaded = load(text, more);
  assert.ok(loaded.ok, loaded.ok ? '' : loaded.mistakes.map(describeMistake).join('\n'));
  return loaded.config;
}

/** The mistakes in a file, each on a line: `path (f:LINE) …`. */
export function mistakesOf(text: string, more?: Partial<OptionSources>): readonly string[] {
  const loaded = load(text, more);
  assert.ok(!loaded.ok, 'there was no mistake');
  return loaded.mistakes.map((mistake) =>
    describeMistake(mistake).replaceAll(`${FOLDER}/${written}.yaml`, 'f'),
  );
}

/** A complete file; the given section `celery`, with its indentation, begins on line 3. */
export function withCelery(section: string): string {
  return `${HEAD}celery:\n${section}\n`;
}

/** A complete file with one service; the given settings of the service begin on line 5, indented by six spaces. */
export function withService(more: string): string {
  return withCelery(`  services:\n    shop:\n      broker_url: amqp://rabbit\n${more}`);
}

/** A complete file with a service and the given `meter_provider`, which begins on line 3. */
export function withMeterProvider(section: string): string {
  return `file_format: "1.0"\ncelery: { services: { shop: { broker_url: "amqp://rabbit" } } }\nmeter_provider:\n${section}\n`;
}

/** Sets process variables until the end of the test, for `\${NAME}` in a file. */
export function setVariables(t: TestContext, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}
