/** Configuration files and environments with traces and logs, for tests. */
import assert from 'node:assert/strict';
import { loadConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import { sources } from './sources.ts';

const HEAD = `file_format: "1.0"
meter_provider: { readers: [ { periodic: { exporter: { otlp_grpc: } } } ] }
`;

/** A complete file; the given sections begin on line 3. @param celery more of the section, in braces */
export function withSections(sections: string, celery = ''): string {
  const services = 'services: { shop: { broker_url: "amqp://rabbit" } }';
  return `${HEAD}${sections}\ncelery: { ${services}${celery === '' ? '' : `, ${celery}`} }\n`;
}

export const BATCH = '{ batch: { exporter: { otlp_grpc: } } }';

/** A complete file with traces; the sampler begins on line 4. */
export function withSampler(sampler: string): string {
  return withSections(`tracer_provider:\n  sampler: ${sampler}\n  processors: [ ${BATCH} ]`);
}

/** What is loaded without a file, beside a broker and a name. */
export function fromOutside(env: Readonly<Record<string, string>>, argv: readonly string[] = []) {
  return loadConfig({ ...sources('run', { env, argv: [...argv] }), refuseUnknown: true });
}

export function configOutside(...parts: Parameters<typeof fromOutside>) {
  const loaded = fromOutside(...parts);
  assert.ok(loaded.ok, loaded.ok ? '' : loaded.mistakes.map(describeMistake).join('\n'));
  return loaded.config;
}

export function mistakesOutside(...parts: Parameters<typeof fromOutside>): readonly string[] {
  const loaded = fromOutside(...parts);
  assert.ok(!loaded.ok, 'there was no mistake');
  return loaded.mistakes.map(describeMistake);
}
