/**
 * Combines flags, environment variables and an optional configuration file into the configuration of a command, or
 * returns all mistakes in them. The files in `file/` read the sections of a file.
 */

import type { ResourceAttributes } from '../otlp/resource.ts';
import { readCeleryMaps } from './celery-maps.ts';
import { unreadVariables } from './celery-variables.ts';
import type { Config, RecordConfig } from './config.ts';
import type { CelerySection, FileService } from './file/celery-section.ts';
import { type ConfigFile, openConfigFile } from './file/config-file.ts';
import { isRelated, showPath } from './file/file-path.ts';
import { otlpSettings, readMeterProvider } from './file/meter-section.ts';
import { type GivenAttribute, readResource } from './file/resource-section.ts';
import { readSignals } from './file/signal-sections.ts';
import { readFile } from './file/standard-section.ts';
import { readFlags } from './flags.ts';
import { inOrder, type Mistake } from './mistake.ts';
import type { Options } from './option-rules.ts';
import { type Given, type GivenTexts, SERVICE_NAME } from './option-rules.ts';
import {
  fileOf,
  flagOf,
  type KeyedRow,
  OPTIONS,
  type OptionKey,
  type OptionScope,
  optionRows,
  servicePath,
  serviceRows,
} from './options.ts';
import { noteOrigins, Origins } from './origins.ts';
import { withProxies } from './proxy-variables.ts';
import { checkOptions, findGiven, type OptionSources, readOptions, withoutStandard } from './read-options.ts';
import { brokerSettings, serviceConfig, serviceParts, withoutName } from './service-config.ts';
import { settingsOf } from './settings.ts';
import { signalConfigs, signalOptions } from './signal-config.ts';
import { readStandard } from './standard-variables.ts';
import { unknownVariables } from './unknown-variables.ts';

/** A configuration, or all mistakes. Both mistakes and warnings are safe to print. */
export type LoadedConfig<C = Config> =
  | {
      readonly ok: true;
      readonly config: C;
      /** Variables and settings without effect, with the reasons. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

const NO_SECTION: CelerySection = { given: new Map(), metrics: [], services: undefined };

/** The scopes of options that only a file can set, if there is a file. */
const IN_FILE_ALONE: readonly OptionScope[] = ['export', 'section'];

/**
 * The configuration of `run`: each value comes from a flag, otherwise from the environment, otherwise from a file,
 * otherwise it is the default. A file is read only if an option names one; `${NAME}` in the file refers to the
 * environment of the process, not to `env`.
 * @param sources `argv` is without the name of the command; unknown variables in `env` are ignored unless
 * `refuseUnknown`
 */
export function loadConfig(sources: OptionSources): LoadedConfig {
  const resolved = resolveConfig('run', sources);
  return resolved.ok ? { ok: true, config: resolved.config, warnings: resolved.warnings } : resolved;
}

/** The configuration of `record`, which needs a broker and a file, but no service and no OTLP. */
export function loadRecordConfig(sources: OptionSources): LoadedConfig<RecordConfig> {
  const result = readOptions('record', sources);
  if (!result.ok) return result;
  const { options, broker, warnings } = result;
  return {
    ok: true,
    warnings,
    config: {
      broker: brokerSettings(options, broker?.urls, broker?.sentinelTls),
      file: options.need('out'),
      replace: options.need('force'),
      logLevel: options.need('log_level'),
    },
  };
}

/** The default service name of `trace`, which exports nothing. */
const UNNAMED: GivenAttribute = { value: 'celery', source: 'default' };

/**
 * The configuration, the origin of each value and the options of the command; or all mistakes.
 * @param command appears in mistakes; all these commands have the same configuration
 */
export function resolveConfig(command: 'run' | 'config' | 'check' | 'trace' | 'top', sources: OptionSources) {
  const { refuseUnknown } = sources;
  const flags = readFlags(sources.argv, command);
  const mistakes = [...flags.mistakes];
  const path = findGiven(optionRows(command), flags.given, sources.env).get('config');
  const file = path === undefined ? undefined : openConfigFile(path.text, path.source, mistakes);
  // If the file cannot be read, variables cannot be checked either, since the file may refer to unknown ones.
  if (path !== undefined && file === undefined) return { ok: false, mistakes: inOrder(mistakes) } as const;
  if (refuseUnknown === true) mistakes.push(...unknownVariables(sources.env, file?.variables));
  const root = file?.root;
  const origins = new Origins(root);
  const read = readFile(root);
  const { celery = NO_SECTION } = read;
  const common = readResource(read.resource, celery.services !== undefined);
  const meter = root === undefined ? undefined : readMeterProvider(root, read.meter_provider, origins);
  const providers = readSignals(root, read, origins);
  if (file !== undefined && meter !== undefined) {
    const refused = (key: OptionKey) => refusedFlag(key, celery, meter.exporter, file.name);
    mistakes.push(...[...flags.given.keys()].flatMap(refused), ...refusedVariables(sources.env, file.name));
  }
  const env = file === undefined ? sources.env : withoutStandard(sources.env);
  const warnings = refuseUnknown === true ? noticed(env, celery, mistakes) : [];
  const fromOutside = (rows: readonly KeyedRow[]): GivenTexts => findGiven(rows, flags.given, env);
  // The options of services in celery.services are checked for each service, and those of another signal with that signal.
  const rows = optionRows(command).filter(([, { scope, signal = 'metrics' }]) => {
    if (signal !== 'metrics') return false;
    if (scope === 'service') return celery.services === undefined;
    return scope !== 'cluster' || (celery.services ?? []).length === 0;
  });
  const own = meter === undefined ? rows : rows.filter(([, { scope }]) => !IN_FILE_ALONE.includes(scope));
  const maps = readCeleryMaps(celery.services === undefined ? env : {}, mistakes);
  const given = new Map([...celery.given, ...maps.given, ...fromOutside(own), ...(meter?.given ?? [])]);
  setLogLevel(given, root?.get('log_level')?.source, read.log_level);
  const name = common.get(SERVICE_NAME) ?? (command === 'trace' ? UNNAMED : undefined);
  if (celery.services === undefined) setServiceName(name, given);
  const options = checkOptions({ rows, given, mistakes, warnings, place: meter?.place });
  const clusters = fromOutside(optionRows(command).filter(([, { scope }]) => scope === 'cluster'));
  const services = celery.services?.map((one) => {
    const texts = new Map([...celery.given, ...one.given, ...clusters]);
    return serviceParts(checkService(one, texts, mistakes, warnings), common, celery.metrics, one);
  }) ?? [serviceParts(options, common, celery.metrics, undefined, maps.broker(options.text('broker_url')))];
  const beside = { flags: flags.given, env, given: celery.given, fileName: file?.name, mistakes };
  const signals = signalOptions(options, providers, beside);
  if (file !== undefined) addObjections(file, mistakes);
  const [first, ...others] = services;
  if (mistakes.length > 0 || first === undefined) return { ok: false, mistakes: inOrder(mistakes) } as const;
  noteOrigins(options, own, origins);
  for (const [name, { source }] of common) origins.note(['resource', 'attributes', name], source);
  const exports = { otlp: otlpSettings(options, meter), ...signalConfigs(signals, providers, origins) };
  const config: Config = {
    services: [serviceConfig(first, origins), ...others.map((one) => serviceConfig(one, origins))],
    ...withProxies(exports, sources.env, mistakes),
    exemplarFilter: options.need('metrics_exemplar_filter'),
    ...processConfig(options, withoutName(common)),
  };
  if (mistakes.length > 0) return { ok: false, mistakes: inOrder(mistakes) } as const;
  return { ok: true, config, origins, options, warnings } as const;
}

/** Adds mistakes in variables that belong to no option. @returns warnings about variables that have no effect */
function noticed(env: OptionSources['env'], { services }: CelerySection, mistakes: Mistake[]): string[] {
  const standard = readStandard(env);
  mistakes.push(...standard.mistakes);
  return [...standard.warnings, ...(services === undefined ? unreadVariables(env) : overruledVariables(env))];
}

/**
 * Warnings about variables `CELERY_OTEL_…` of a single service, which `celery.services` overrides. Variables of Celery and of
 * the standard may be meant for other programs.
 */
function overruledVariables(env: OptionSources['env']): string[] {
  const names = optionRows().flatMap(([, row]) => (row.scope === 'service' ? row.env : []));
  return names
    .filter((name) => name.startsWith('CELERY_OTEL_') && (env[name] ?? '').trim() !== '')
    .map((name) => `${name} has no effect with a file that has celery.services: set the key there`);
}

function processConfig(options: Options, attributes: ResourceAttributes) {
  const address = options.value('status_address');
  const file = options.value('status_token_file');
  const token = options.value('status_token') ?? file?.token;
  const status = address && {
    address,
    ...settingsOf(options, 'status'),
    ...(token !== undefined && { token }),
    ...(file !== undefined && { tokenFile: file.path }),
  };
  return {
    self: { ...settingsOf(options, 'self'), attributes },
    ...(status === undefined ? {} : { status }),
    logLevel: options.need('log_level'),
  };
}

function checkService({ place }: FileService, given: GivenTexts, mistakes: Mistake[], warnings: string[]) {
  const at = (key: OptionKey) => ({
    path: showPath([...place.path, ...servicePath(key)]),
    source: place.source,
  });
  return checkOptions({ rows: serviceRows(), given, mistakes, warnings, place: at });
}

/** Returns a mistake if only the file can set the option of this flag. */
function refusedFlag(key: OptionKey, celery: CelerySection, exporter: string, fileName: string): Mistake[] {
  const { scope } = OPTIONS[key];
  const inFile = fileOf(key, exporter);
  const isThere = IN_FILE_ALONE.includes(scope) || (scope === 'service' && celery.services !== undefined);
  if (inFile === undefined || !isThere) return [];
  return [{ path: key, source: flagOf(key), expected: `no such flag with ${fileName}; set ${inFile} there` }];
}

/** Mistakes for variables `CELERY_OTEL_…` of options that the file sets in the standard's sections. */
function refusedVariables(env: OptionSources['env'], fileName: string): readonly Mistake[] {
  const rows = optionRows('run').filter(([, { scope }]) => IN_FILE_ALONE.includes(scope));
  return [...findGiven(rows, new Map(), withoutStandard(env))].map(([key, { source }]) => ({
    path: key,
    source,
    expected: `no such variable with ${fileName}; set ${fileOf(key)} there`,
  }));
}

/** Takes the log level from the file if nothing else sets it. */
function setLogLevel(given: Map<OptionKey, Given>, source?: string, text?: string): void {
  if (source === undefined || text === undefined || given.has('log_level')) return;
  given.set('log_level', { path: 'log_level', source, text });
}

/** Takes the name of the only service from the resource in the file if flags and variables do not name it. */
function setServiceName(name: GivenAttribute | undefined, given: Map<OptionKey, Given>): void {
  const own = given.get('resource_attributes');
  const ownNames = own === undefined ? undefined : OPTIONS.resource_attributes.format.read(own.text);
  const isNamed = given.has('service_name') || (ownNames?.ok === true && ownNames.value.has(SERVICE_NAME));
  const text = String(name?.value ?? '').trim();
  if (name === undefined || text === '' || isNamed) return;
  given.set('service_name', { path: 'resource.attributes', source: name.source, text });
}

/** Adds the mistakes that the standard's schema finds, unless one about the same path was already reported. */
function addObjections(file: ConfigFile, mistakes: Mistake[]): void {
  const reported = mistakes.map(({ path }) => path);
  for (const { path, expected } of file.objections) {
    if (reported.some((other) => isRelated(showPath(path), other))) continue;
    file.root.nearest(path).complain(expected);
  }
}
