/**
 * Options, with or without a configuration file → the configuration of a command, or everything that is wrong with them.
 * How options are found and checked is `read-options.ts`; what a file says, `load-config-file.ts`.
 */
import type { Config, RecordConfig } from './config.ts';
import { readFlags } from './flags.ts';
import { loadConfigFile, type ResolvedConfig } from './load-config-file.ts';
import type { Mistake } from './mistake.ts';
import { optionRows } from './options.ts';
import { Origins } from './origins.ts';
import { otlpSettings } from './otlp-options.ts';
import { checkOptions, findGiven, type OptionSources, type Options, readOptions } from './read-options.ts';
import { noteProcess, onlyService, serviceConfig } from './service-config.ts';
import { brokerSettings } from './service-settings.ts';
import { unknownVariables } from './unknown-variables.ts';

export type { Mistake } from './mistake.ts';

/** A configuration, or every mistake that was made in it; all of it may be printed. */
export type LoadedConfig<C = Config> =
  | { readonly ok: true; readonly config: C }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/**
 * The configuration of `run`: flag, else environment, else file, else default. A file is only read where an option names
 * one; then the `${NAME}` in it come from the environment of the process, whatever `env` is.
 * @param sources `argv` without the name of the command; `env` is only read, and variables in it that are unknown are
 *   nobody's business unless `refuseUnknown` says so.
 */
export function loadConfig(sources: OptionSources): LoadedConfig {
  const resolved = resolveConfig('run', sources);
  return resolved.ok ? { ok: true, config: resolved.config } : resolved;
}

/** @param command which of them is told of in mistakes; both have the same configuration */
export function resolveConfig(command: 'run' | 'config', sources: OptionSources): ResolvedConfig {
  const { argv, env, refuseUnknown = false } = sources;
  const flags = readFlags(argv, command);
  const mistakes = [...flags.mistakes];
  const rows = optionRows(command);
  const given = findGiven(rows, flags.given, env);
  const file = given.get('config');
  if (file !== undefined)
    return loadConfigFile({ file, rows, flags: flags.given, env, refuseUnknown, mistakes });
  if (refuseUnknown) mistakes.push(...unknownVariables(env));
  const options = checkOptions({ rows, given, mistakes });
  return mistakes.length > 0 ? { ok: false, mistakes } : { ok: true, ...configOf(options) };
}

function configOf(options: Options): { config: Config; origins: Origins } {
  const origins = new Origins();
  noteProcess(options, origins);
  return {
    origins,
    config: {
      services: [serviceConfig(onlyService(options), origins)],
      otlp: otlpSettings(options, origins),
      self: { enabled: options.need('self_telemetry'), attributes: {} },
      logLevel: options.need('log_level'),
    },
  };
}

/** The configuration of `record`, which needs a broker and a file and knows no service and no OTLP. */
export function loadRecordConfig(sources: OptionSources): LoadedConfig<RecordConfig> {
  const result = readOptions('record', sources);
  if (!result.ok) return result;
  const { options } = result;
  return {
    ok: true,
    config: {
      broker: brokerSettings(options),
      file: options.need('out'),
      replace: options.need('force'),
      logLevel: options.need('log_level'),
    },
  };
}
