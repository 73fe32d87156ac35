/** Configuration files for tests: written where nobody else writes, loaded, and told of without their folder. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import type { OptionSources } from '../../src/config/read-options.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'celery-otel-files-'));
after(() => rmSync(FOLDER, { recursive: true }));

/** What `celery-otel config --example` prints. */
export const EXAMPLE_FILE = new URL('../../otel-config/celery-otel.yaml', import.meta.url);
export const EXAMPLE = readFileSync(EXAMPLE_FILE, 'utf8');

/** The least there must be of the standard's part, on one line. */
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

/** A whole file whose third line is the first of the section `celery`, which is given with its indentation. */
export function withCelery(section: string): string {
  return `${HEAD}celery:\n${section}\n`;
}

/** A whole file with one service, and more of the section of that. Its first line is the fifth; six spaces are before it. */
export function withService(more: string): string {
  return withCelery(`  services:\n    shop:\n      broker_url: amqp://rabbit\n${more}`);
}

/** A whole file with a service and another `meter_provider`, which begins on line 3. */
export function withMeterProvider(section: string): string {
  return `file_format: "1.0"\ncelery: { services: { shop: { broker_url: "amqp://rabbit" } } }\nmeter_provider:\n${section}\n`;
}

/** Sets variables of the process until the end of the test, from which `\${NAME}` in a file come. */
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
