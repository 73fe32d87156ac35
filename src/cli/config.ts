/**
 * `celery-otel config`: prints the effective configuration of `run`, each value with its origin, or all mistakes. It starts
 * nothing.
 */
import { readFileSync } from 'node:fs';
import { readFlags } from '../config/flags.ts';
import { resolveConfig } from '../config/load-config.ts';
import { flagOf, OPTIONS, type OptionKey } from '../config/options.ts';
import { effectiveConfig } from '../config/show/effective-config.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print, reportMistakes, reportWarnings } from './print.ts';

/** Options that print a file of the package instead. */
const PRINTED: ReadonlyMap<OptionKey, string> = new Map<OptionKey, string>([
  ['example', '../../otel-config/celery-otel.yaml'],
  ['schema', '../../schema/celery.schema.json'],
]);

export async function config(argv: readonly string[], io: CommandIo): Promise<number> {
  const { given, mistakes } = readFlags(argv, 'config');
  for (const [key, file] of PRINTED) {
    const reading = OPTIONS[key].format.read(given.get(key) ?? 'false');
    if (!reading.ok || reading.value !== true) continue;
    const others = [...given.keys()].filter((other) => other !== key);
    const beside = others.map((other) => ({
      path: other,
      source: flagOf(other),
      expected: `no other option with ${flagOf(key)}`,
    }));
    if (mistakes.length + beside.length > 0) return reportMistakes('config', [...mistakes, ...beside], io);
    print(io.stdout, readFileSync(new URL(file, import.meta.url), 'utf8'));
    return EXIT_CODE.ok;
  }
  const resolved = resolveConfig('config', { argv, env: io.env, refuseUnknown: true });
  if (!resolved.ok) return reportMistakes('config', resolved.mistakes, io);
  reportWarnings(resolved.warnings, io);
  const which = resolved.options.need('all') ? 'all' : 'set';
  const { text, defaults } = effectiveConfig(resolved.config, resolved.origins, which);
  const rest = defaults === 0 ? '' : `# ${defaults} more values are defaults; ${flagOf('all')} prints them\n`;
  print(io.stdout, text + rest);
  return EXIT_CODE.ok;
}
