/**
 * `celery-otel config`: prints the effective configuration of `run`, each value with its origin, or all mistakes. It
 * starts nothing.
 */
import { readFlags } from '../config/flags.ts';
import { resolveConfig } from '../config/load-config.ts';
import { type Example, flagOf, OPTIONS, type OptionKey } from '../config/options.ts';
import { effectiveConfig } from '../config/show/effective-config.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { packageFile } from './package-file.ts';
import { print, reportMistakes, reportWarnings } from './print.ts';

const EXAMPLE_FILES: Readonly<Record<Example, string>> = {
  several: 'otel-config/celery-otel.yaml',
  one: 'otel-config/examples/one.yaml',
  redis: 'otel-config/examples/redis.yaml',
  sentinel: 'otel-config/examples/sentinel.yaml',
  tls: 'otel-config/examples/tls.yaml',
};

/** Options that print a file of the package instead: by option, the file for each value. */
const PRINTED: ReadonlyMap<OptionKey, ReadonlyMap<unknown, string>> = new Map<
  OptionKey,
  ReadonlyMap<unknown, string>
>([
  ['example', new Map(Object.entries(EXAMPLE_FILES))],
  ['schema', new Map([[true, 'schema/celery.schema.json']])],
]);

export async function config(argv: readonly string[], io: CommandIo): Promise<number> {
  const { given, mistakes } = readFlags(argv, 'config');
  for (const [key, files] of PRINTED) {
    const reading = OPTIONS[key].format.read(given.get(key) ?? '');
    const file = reading.ok ? files.get(reading.value) : undefined;
    if (file === undefined) continue;
    const others = [...given.keys()].filter((other) => other !== key);
    const beside = others.map((other) => ({
      path: other,
      source: flagOf(other),
      expected: `no other option with ${flagOf(key)}`,
    }));
    if (mistakes.length + beside.length > 0) return reportMistakes('config', [...mistakes, ...beside], io);
    print(io.stdout, packageFile(file));
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
