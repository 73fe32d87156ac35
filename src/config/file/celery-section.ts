/**
 * The section `celery` of a configuration file: the texts of options, for all services and for each, and settings that
 * only a file can have. Rules between options are checked later, when all of them are known.
 */
import type { BrokerTls } from '../../broker/broker-url.ts';
import type { MetricEntry } from '../metric-choice.ts';
import { type KeyedRow, OPTIONS, type OptionKey, serviceRows } from '../options.ts';
import type { Given, GivenTexts } from '../read-options.ts';
import { checkTransportOptions, readBrokerSsl, readBrokerUrl } from './broker-section.ts';
import { showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { readMetrics } from './metrics-section.ts';
import { type GivenAttributes, readServiceResource } from './resource-section.ts';

export interface CelerySection {
  /** Options for all services. */
  readonly given: GivenTexts;
  readonly metrics: readonly MetricEntry[];
  /** Undefined: the key is missing, so flags and environment describe the only service. */
  readonly services: readonly FileService[] | undefined;
}

export interface FileService {
  readonly name: string;
  readonly place: FileValue;
  readonly given: GivenTexts;
  /** `broker_use_ssl`. */
  readonly tls: BrokerTls | undefined;
  readonly resource: GivenAttributes;
  readonly metrics: readonly MetricEntry[];
}

/** Keys of the section and of a service that are not options. */
const CELERY_KEYS = ['telemetry', 'services', 'metrics'];
const SERVICE_KEYS = ['broker_use_ssl', 'broker_transport_options', 'resource', 'metrics'];

const CLUSTER_ROWS = serviceRows().filter(([, { scope }]) => scope === 'cluster');

export function readCelery(celery: FileValue | undefined): CelerySection {
  if (celery === undefined || !celery.expectMap('settings')) {
    return { given: new Map(), metrics: [], services: undefined };
  }
  celery.expectKeys([...CLUSTER_ROWS.map(([key]) => key), ...CELERY_KEYS]);
  const given = readTexts(celery, CLUSTER_ROWS);
  const telemetry = celery.get('telemetry');
  if (telemetry?.expectMap('enabled') === true) {
    telemetry.expectKeys(['enabled']);
    addText(given, 'self_telemetry', telemetry.get('enabled'));
  }
  const section = {
    given,
    metrics: readMetrics(celery.get('metrics')),
    services: readServices(celery.get('services')),
  };
  celery.expectVariables();
  return section;
}

function readServices(services: FileValue | undefined): readonly FileService[] | undefined {
  if (services === undefined) return undefined;
  if (services.expectMap('services') && services.entries().length === 0) {
    services.complain('at least one service: its service.name as the key, with a broker_url');
  }
  return services.entries().flatMap(([name, place]) => {
    const { format } = OPTIONS.service_name;
    const isName = name !== '' && name === name.trim() && format.read(name).ok;
    if (!isName) place.complain(`a service name: ${format.expects}, without leading or trailing spaces`);
    return place.expectMap('settings') ? readService(name, place) : [];
  });
}

function readService(name: string, place: FileValue): FileService {
  const rows = serviceRows();
  place.expectKeys([...rows.map(([key]) => key), ...SERVICE_KEYS]);
  checkTransportOptions(place.get('broker_transport_options'));
  return {
    name,
    place,
    given: readTexts(place, rows),
    tls: readBrokerSsl(place.get('broker_use_ssl')),
    resource: readServiceResource(place.get('resource')),
    metrics: readMetrics(place.get('metrics')),
  };
}

function readTexts(map: FileValue, rows: readonly KeyedRow[]): Map<OptionKey, Given> {
  const given = new Map<OptionKey, Given>();
  for (const [key] of rows) addText(given, key, map.get(key));
  return given;
}

/** A value that cannot be read is reported and not set. */
function addText(given: Map<OptionKey, Given>, key: OptionKey, value: FileValue | undefined): void {
  if (value === undefined) return;
  const { format } = OPTIONS[key];
  const text = key === 'broker_url' ? readBrokerUrl(value, format) : value.text(format);
  if (text === undefined) return;
  const reading = format.read(text);
  if (reading.ok) given.set(key, { path: showPath(value.path), source: value.source, text });
  else value.complain(reading.expected, format.show(text));
}
