/**
 * Reads the section `celery` of a configuration file: the texts of options, for all services and for each, and settings
 * that only a file can have. It does not check rules between options, because those also need flags and variables.
 */
import type { Given } from '../option-rules.ts';
import {
  fileOf,
  OPTIONS,
  type OptionKey,
  optionRows,
  servicePath,
  serviceRows,
  TRANSPORT_OPTIONS,
} from '../options.ts';
import { readBroker } from './broker-section.ts';
import { type FilePath, parsePath, showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { FILE_METRICS } from './metrics-section.ts';
import { SERVICE_RESOURCE } from './resource-section.ts';
import { any, map, mapOf, type Read } from './shape.ts';

export type CelerySection = Read<typeof CELERY>;
export type FileService = Read<typeof services>[number];

/** Options with their paths in a map. */
type Placed = readonly (readonly [key: OptionKey, path: FilePath])[];

const SERVICE_OPTIONS: Placed = serviceRows().map(([key]) => [key, servicePath(key)]);
/** The options of the section itself. */
const OWN_OPTIONS: Placed = optionRows('run').flatMap(([key]) => {
  const [section, ...path] = parsePath(fileOf(key) ?? '');
  return section === 'celery' && path[0] !== 'services' ? [[key, path] as const] : [];
});
/** The keys of the options that are in the map itself, or in one of its maps. */
const keysIn = (options: Placed, ...at: FilePath): readonly string[] =>
  options.flatMap(([, path]) => (showPath(path.slice(0, -1)) === showPath(at) ? [String(path.at(-1))] : []));
const mapOfOptions = (name: string, of = 'settings') => map({}, { of, others: keysIn(OWN_OPTIONS, name) });

const service = map(
  {
    broker_use_ssl: any,
    [TRANSPORT_OPTIONS]: any,
    resource: SERVICE_RESOURCE,
    metrics: FILE_METRICS,
  },
  { others: keysIn(SERVICE_OPTIONS) },
);

const services = mapOf('services', (name, place) => {
  const { format } = OPTIONS.service_name;
  const isName = name !== '' && name === name.trim() && format.read(name).ok;
  if (!isName) place.complain(`a service name: ${format.expects}, without leading or trailing spaces`);
  const keys = service.read(place);
  const given = textsIn(place, SERVICE_OPTIONS);
  return (
    keys && {
      name,
      place,
      given,
      broker: readBroker(place, given.get('broker_url')?.text),
      resource: new Map(keys.resource),
      metrics: keys.metrics?.flat() ?? [],
    }
  );
});

const celery = map(
  {
    telemetry: mapOfOptions('telemetry', 'enabled'),
    status: mapOfOptions('status', 'address, ready, runs and a token'),
    services,
    metrics: FILE_METRICS,
    traces: mapOfOptions('traces'),
    logs: mapOfOptions('logs'),
  },
  { others: keysIn(OWN_OPTIONS) },
);

export const CELERY = {
  read(place: FileValue) {
    const keys = celery.read(place) ?? {};
    const given = textsIn(place, OWN_OPTIONS);
    const map = place.get('services');
    if (map !== undefined && keys.services?.length === 0 && map.entries().length === 0) {
      map.complain('at least one service: its service.name as the key, with a broker_url');
    }
    place.expectVariables();
    return {
      /** Options for all services. */
      given,
      metrics: keys.metrics?.flat() ?? [],
      /** Undefined: the key is missing, so flags and environment describe the only service. */
      services: map === undefined ? undefined : (keys.services ?? []),
    };
  },
};

function textsIn(map: FileValue, options: Placed): Map<OptionKey, Given> {
  const given = new Map<OptionKey, Given>();
  for (const [key, path] of options) addText(given, key, map.find(path));
  return given;
}

/**
 * The text of an option for a value that Python treats as false in a map (`null`, 0 and ''): `false` for a switch, ''
 * (the default) for other options. Undefined for other values. With `health_check_interval` 0, redis-py does not check
 * its connections; celery-otel checks them anyway, at the default interval.
 */
function pythonic(key: OptionKey, value: unknown): string | undefined {
  const { schema, orSwitch } = OPTIONS[key].format;
  const isSwitch = schema.type === 'boolean' || orSwitch === true;
  if (isSwitch && value === 1) return 'true';
  const isEmpty = value === '' && ['global_keyprefix', 'fanout_prefix'].includes(key);
  const isNothing = value === null || value === undefined || isEmpty;
  const isZero = value === 0 && (isSwitch || key === 'health_check_interval');
  return isNothing || isZero ? (isSwitch ? 'false' : '') : undefined;
}

/** The text of `null` in a setting of Celery itself; '' is the default. Undefined for other values and other options. */
function noneOf(key: OptionKey, value: FileValue): string | undefined {
  const isCelerys = OPTIONS[key].prefixes.includes('CELERY_');
  return isCelerys && value.isNull ? (OPTIONS[key].none ?? '') : undefined;
}

/** Sets the text of an option. A value that cannot be read is reported, and not set. */
export function addText(given: Map<OptionKey, Given>, key: OptionKey, value: FileValue | undefined): void {
  if (value === undefined) return;
  const { format, within } = OPTIONS[key];
  const { list } = format;
  const plain = within === undefined ? noneOf(key, value) : pythonic(key, value.value);
  if (plain !== undefined) {
    if (plain !== '') given.set(key, { path: showPath(value.path), source: value.source, text: plain });
    return;
  }
  const items = list === undefined ? [] : value.items();
  const ofItem = { ...format, schema: list?.items ?? format.schema };
  const texts = (items.length === 0 ? [value] : items).map((item) => item.text(ofItem));
  if (texts.includes(undefined)) return;
  const text = texts.join(list?.separator);
  const reading = format.read(text);
  if (reading.ok) given.set(key, { path: showPath(value.path), source: value.source, text });
  else value.complain(reading.expected, format.show(text));
}
