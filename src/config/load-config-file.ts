/**
 * A configuration file, with the flags and variables that go with it → the configuration, or everything that is wrong
 * with all of them. It puts the sections together; each is read in a file of its own.
 */

import type { Config, ServiceConfig } from './config.ts';
import { checkBrokerSsl } from './file/broker-section.ts';
import { type CelerySection, type FileService, readCelery } from './file/celery-section.ts';
import { type ConfigFile, openConfigFile } from './file/config-file.ts';
import { readMeterProvider } from './file/exporter-section.ts';
import { isRelated, showPath } from './file/file-path.ts';
import { FileValue } from './file/file-value.ts';
import { type GivenAttributes, readResource } from './file/resource-section.ts';
import { checkStandard } from './file/standard-section.ts';
import { STANDARD_FORMATS } from './file/standard-table.ts';
import { CONFIG_FILE, inOrder, type Mistake } from './mistake.ts';
import { SERVICE_NAME } from './option-rules.ts';
import {
  fileOf,
  flagOf,
  type KeyedRow,
  OPTIONS,
  type OptionKey,
  type OptionScope,
  serviceRows,
} from './options.ts';
import { Origins } from './origins.ts';
import { checkOptions, findGiven, type Given, type OptionSources, type Options } from './read-options.ts';
import {
  noteProcess,
  onlyService,
  plainAttributes,
  type ServiceParts,
  serviceConfig,
} from './service-config.ts';
import { unknownVariables } from './unknown-variables.ts';

/** A configuration with where each value came from, or every mistake. */
export type ResolvedConfig =
  | { readonly ok: true; readonly config: Config; readonly origins: Origins }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

export interface FileSources {
  /** The path, and what gave it. */
  readonly file: Given;
  /** Of the command. */
  readonly rows: readonly KeyedRow[];
  readonly flags: ReadonlyMap<OptionKey, string>;
  readonly env: OptionSources['env'];
  readonly refuseUnknown: boolean;
  /** Those of the command line; others are added. */
  readonly mistakes: Mistake[];
}

export function loadConfigFile(sources: FileSources): ResolvedConfig {
  const { file: given, rows, flags, env, refuseUnknown, mistakes } = sources;
  const opened = openConfigFile(given.text, given.source);
  // Which variables it refers to is not known then.
  if (!opened.ok) return { ok: false, mistakes: [...mistakes, ...opened.mistakes] };
  const { file } = opened;
  if (refuseUnknown) mistakes.push(...unknownVariables(env, file.variables));
  mistakes.push(...file.mistakes);
  const root = new FileValue([], file.data, file, mistakes);
  const origins = new Origins(root);
  checkStandard(root);
  const celery = readCelery(root.get('celery'));
  const common = readResource(root.get('resource'), celery.services !== undefined);
  const otlp = readMeterProvider(root.get('meter_provider'), (path, source) => origins.note(path, source));
  refuseFlags(flags, celery, root, file.name, mistakes);
  const outer = { celery, common, rows, flags, env: withoutStandard(env), mistakes };
  const options = readProcess(outer, root);
  const services =
    celery.services === undefined ? [readOnly(outer)] : celery.services.map((one) => readNamed(outer, one));
  addObjections(file, mistakes);
  const [first, ...others] = services;
  if (mistakes.length > 0 || first === undefined)
    return { ok: false, mistakes: inOrder(mistakes, file.name) };
  noteProcess(options, origins);
  const configOf = (service: () => ServiceParts): ServiceConfig => serviceConfig(service(), origins);
  return {
    ok: true,
    origins,
    config: {
      services: [configOf(first), ...others.map(configOf)],
      otlp,
      self: { enabled: options.need('self_telemetry'), attributes: ownAttributes(common, origins) },
      logLevel: options.need('log_level'),
    },
  };
}

/** What is read beside a service. */
interface Outer {
  readonly celery: CelerySection;
  readonly common: GivenAttributes;
  readonly rows: FileSources['rows'];
  readonly flags: FileSources['flags'];
  readonly env: FileSources['env'];
  readonly mistakes: Mistake[];
}

/** Where there is a file, it alone decides what the variables of the specification are about ("OTEL_CONFIG_FILE"). */
function withoutStandard(env: FileSources['env']): FileSources['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')));
}

/** Takes note of flags for what is in the file alone. */
function refuseFlags(
  flags: FileSources['flags'],
  celery: CelerySection,
  root: FileValue,
  fileName: string,
  mistakes: Mistake[],
): void {
  const isHttp =
    root.find(['meter_provider', 'readers', 0, 'periodic', 'exporter', 'otlp_http']) !== undefined;
  for (const key of flags.keys()) {
    const { scope } = OPTIONS[key];
    const inFile = fileOf(key)?.replace('EXPORTER', isHttp ? 'otlp_http' : 'otlp_grpc');
    const isThere = scope === 'export' || (scope === 'service' && celery.services !== undefined);
    if (inFile === undefined || !isThere) continue;
    const expected = `no such flag beside ${fileName}, which has it under ${inFile}`;
    mistakes.push({ path: key, source: flagOf(key), value: undefined, expected });
  }
}

/** The options of the process, and of all services where no service is there to check them with. */
function readProcess({ celery, rows: all, flags, env, mistakes }: Outer, root: FileValue): Options {
  const scopes: readonly OptionScope[] =
    celery.services?.length === 0 ? ['command', 'process', 'cluster'] : ['command', 'process'];
  const rows = rowsOf(all, scopes);
  const given = new Map([...celery.given, ...findGiven(rows, flags, env)]);
  const level = root.get('log_level');
  const text = level?.peek(STANDARD_FORMATS.logLevel);
  if (level !== undefined && text !== undefined && !given.has('log_level')) {
    given.set('log_level', { path: showPath(level.path), source: level.source, text });
  }
  return checkOptions({ rows, given, mistakes });
}

/** One of `celery.services`: what it says wins over what is said of all, and flags and variables of those over both. */
function readNamed(outer: Outer, service: FileService): () => ServiceParts {
  const { celery, common, rows, flags, env, mistakes } = outer;
  const { name, place, tls } = service;
  const given = new Map([
    ...celery.given,
    ...service.given,
    ...findGiven(rowsOf(rows, ['cluster']), flags, env),
  ]);
  const options = checkOptions({
    rows: serviceRows(),
    given,
    mistakes,
    place: (key) => ({ path: showPath([...place.path, key]), source: place.source }),
  });
  const ssl = place.get('broker_use_ssl');
  checkBrokerSsl(ssl, tls, { urls: options.value('broker_url'), text: options.text('broker_url') });
  return () => ({
    name,
    named: place.source,
    options,
    ...(tls === undefined ? {} : { tls: { settings: tls, source: ssl?.source ?? place.source } }),
    attributes: new Map([...common, ...service.resource]),
    metrics: [service.metrics, celery.metrics],
  });
}

/** The service of flags and variables, where the file has no `celery.services`; the file may have its name. */
function readOnly({ celery, common, rows: all, flags, env, mistakes }: Outer): () => ServiceParts {
  const rows = rowsOf(all, ['cluster', 'service']);
  const given = new Map([...celery.given, ...findGiven(rows, flags, env)]);
  const name = common.get(SERVICE_NAME);
  const own = given.get('resource_attributes');
  const ownNames = own === undefined ? undefined : OPTIONS.resource_attributes.format.read(own.text);
  const isNamed = given.has('service_name') || (ownNames?.ok === true && ownNames.value.has(SERVICE_NAME));
  const text = String(name?.value ?? '').trim();
  if (name !== undefined && text !== '' && !isNamed) {
    given.set('service_name', { path: 'resource.attributes', source: name.source, text });
  }
  const options = checkOptions({ rows, given, mistakes });
  return () => onlyService(options, common, celery.metrics);
}

function rowsOf(rows: readonly KeyedRow[], scopes: readonly OptionScope[]): readonly KeyedRow[] {
  return rows.filter(([, { scope }]) => scopes.includes(scope));
}

/** Attributes of the bridge's own metrics: whose they are is no question. */
function ownAttributes(common: GivenAttributes, origins: Origins): Config['self']['attributes'] {
  const own = new Map([...common].filter(([name]) => name !== SERVICE_NAME));
  for (const [name, { source }] of own) origins.note(['resource', 'attributes', name], source);
  return plainAttributes(own);
}

/** Adds what is wrong by the standard, unless something that was noted is about the same. */
function addObjections(file: ConfigFile, mistakes: Mistake[]): void {
  const noted = mistakes.map(({ path }) => path);
  for (const { path, expected } of file.objections) {
    const shown = showPath(path);
    if (noted.some((other) => isRelated(shown, other))) continue;
    mistakes.push({ path: shown || CONFIG_FILE, source: file.whereIs(path), value: undefined, expected });
  }
}
