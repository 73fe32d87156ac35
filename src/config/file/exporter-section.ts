/**
 * Reads the exporter of a signal in a configuration file: the export options of that signal, and its headers. From
 * these, or from options alone, it builds the settings of the exporter, in the same way for all signals. It reports
 * contradictions between keys, unless a rule between options covers them.
 */
import type { ExporterSettings } from '../../otlp/otlp-settings.ts';
import type { SignalName } from '../../otlp/signal-paths.ts';
import { oneOf, secret, trueOrFalse, wholeNumber } from '../format/formats.ts';
import { headerFault, headerList, type Pairs } from '../format/key-value-list.ts';
import { defaultEndpoint } from '../format/otlp-endpoint.ts';
import type { Mistake } from '../mistake.ts';
import { endpointOf, type Given, type Options } from '../option-rules.ts';
import { DAY_MS, fileOf, OPTIONS, type OptionKey, type OptionValues, signalRows } from '../options.ts';
import type { Origins } from '../origins.ts';
import { settingsOf } from '../settings.ts';
import { type FilePath, parsePath, showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { list, map, placed, type Read, refused, required, type Shape, scalar } from './shape.ts';

/** A key with the format of an option. */
export const option = <K extends OptionKey>(key: K): Shape<OptionValues[K]> => scalar(OPTIONS[key].format);

/** A timeout in milliseconds; 0 means no limit. */
export const noLimit = scalar(wholeNumber(0, DAY_MS, 'milliseconds'));

const TLS_FILES = {
  ca_file: option('otlp_certificate'),
  cert_file: option('otlp_client_certificate'),
  key_file: option('otlp_client_key'),
};

/** The keys of both exporters. */
const OTLP = {
  endpoint: option('otlp_endpoint'),
  // The name is a secret too, because a user may have swapped name and value.
  headers: list(placed(map({ name: required(scalar(secret), secret.expects), value: scalar(secret) }))),
  headers_list: scalar(headerList),
  compression: option('otlp_compression'),
  timeout: noLimit,
};

const GRPC = { ...OTLP, tls: map({ ...TLS_FILES, insecure: scalar(trueOrFalse) }) };
const HTTP = { ...OTLP, tls: map(TLS_FILES), encoding: scalar(oneOf(['protobuf', 'json'])) };

/** The shape of the key `exporter` of a signal. @param more further keys of both kinds of exporter */
export function exporterKeys<T extends Record<string, Shape<unknown>>>(signal: SignalName, more: T) {
  const oneWay = `${signal === 'logs' ? 'log records' : signal} are only exported over OTLP, by otlp_grpc or otlp_http`;
  return required(
    map(
      {
        console: refused(oneWay),
        'otlp_file/development': refused(oneWay),
        otlp_grpc: map({ ...GRPC, ...more }),
        otlp_http: map({ ...HTTP, ...more }),
      },
      { one: true },
    ),
    'otlp_grpc or otlp_http, with its settings',
  );
}

interface Exporter {
  /** The value that was read from the key `exporter`. */
  readonly exporter:
    | { readonly otlp_grpc?: Grpc | undefined; readonly otlp_http?: Http | undefined }
    | undefined;
  /** For each timeout, the value that replaces 0 (no limit). */
  readonly longest: Readonly<Partial<Record<OptionKey, number>>>;
  /** The index of the processor that contains the exporter. */
  readonly index?: number;
}

type Parts<T> = { readonly [K in keyof T]?: Read<T[K]> | undefined };
type Grpc = Parts<typeof GRPC>;
type Http = Parts<typeof HTTP>;

export type GivenExporter = ReturnType<typeof readExporter>;

/** @param root the whole file */
export function readExporter(
  root: FileValue,
  signal: SignalName,
  { exporter: { otlp_grpc: grpc, otlp_http: http } = {}, longest, index = 0 }: Exporter,
  origins: Origins,
) {
  const exporter = http !== undefined && grpc === undefined ? 'otlp_http' : 'otlp_grpc';
  const protocol = exporter === 'otlp_grpc' ? 'grpc' : (`http/${http?.encoding ?? 'protobuf'}` as const);
  const shownPath = (key: OptionKey): FilePath => parsePath(fileOf(key, exporter, signal) ?? key);
  const pathOf = (key: OptionKey): FilePath => shownPath(key).map((step) => (step === 0 ? index : step));
  const otlp = root.find([...pathOf('otlp_protocol'), exporter]);
  // By the standard, an unset variable means a missing value. Here it is a mistake: nobody wants to send a header without its
  // secret, or metrics to localhost instead.
  otlp?.expectVariables();
  const given = new Map<OptionKey, Given>();
  for (const [key, { scope, format }] of signalRows(signal)) {
    if (scope !== 'export') continue;
    const place = root.find(pathOf(key));
    const found = place?.plain(format);
    const text = key === 'otlp_protocol' ? protocol : textOf(found, longest[key]);
    if (place === undefined || text === undefined || !OPTIONS[key].format.read(text).ok) continue;
    given.set(key, { path: showPath(place.path), source: place.source, text });
  }
  checkTls(
    otlp?.get('tls'),
    grpc?.tls?.insecure,
    given.get('otlp_endpoint')?.text ?? defaultEndpoint(protocol, signal),
  );
  return {
    /** The key of the exporter in the file. */
    exporter,
    given,
    /** The path and the line to report for a missing option. */
    place: (key: OptionKey): Pick<Mistake, 'path' | 'source'> =>
      OPTIONS[key].scope === 'export'
        ? { path: showPath(pathOf(key)), source: root.nearest(pathOf(key)).source }
        : { path: key },
    headers: readHeaders(otlp, grpc ?? http, (name, source) => {
      origins.note([...shownPath('otlp_headers'), name], source);
    }),
  };
}

/** Translates a text in a file to the text of the option. */
function textOf(text: string | undefined, longest: number | undefined): string | undefined {
  if (text === 'low_memory') return 'lowmemory';
  return text === '0' && longest !== undefined ? String(longest) : text;
}

function checkTls(tls: FileValue | undefined, insecure: boolean | undefined, endpoint: string): void {
  const scheme = /^https?:/iu.exec(endpoint)?.[0].toLowerCase();
  // By the standard `insecure` applies to endpoints without a scheme; with one it must not contradict the scheme.
  if (insecure !== undefined && scheme !== undefined && insecure !== (scheme === 'http:')) {
    tls?.get('insecure')?.complain(`${!insecure}, because the endpoint is ${scheme}`);
  }
  if (scheme !== 'http:' && (endpoint.includes('://') || insecure !== true)) return;
  // A user who sets TLS files believes that the connection is secure.
  for (const key of Object.keys(TLS_FILES)) {
    const file = tls?.get(key);
    if (file?.isNull === false) file.complain('no file, because the endpoint does not use TLS');
  }
}

/** `headers` take precedence over `headers_list`; headers without a value are ignored, as in the standard. */
function readHeaders(
  otlp: FileValue | undefined,
  settings: Pick<Grpc, 'headers' | 'headers_list'> | undefined,
  note: (name: string, source: string | undefined) => void,
): Pairs {
  const headers = new Map<string, string>();
  const add = (from: FileValue | undefined, key: string, value: string): void => {
    headers.set(key, value);
    note(key, from?.source);
  };
  for (const [key, value] of settings?.headers_list ?? []) add(otlp?.get('headers_list'), key, value);
  const seen = new Set<string>();
  for (const { place, value: header } of settings?.headers ?? []) {
    const { name, value } = header;
    const key = name?.toLowerCase();
    if (key === undefined) continue;
    if (seen.has(key)) place.complain('each header only once (case is ignored)');
    seen.add(key);
    if (value === undefined) continue;
    const fault = headerFault(key, value);
    if (fault === undefined) add(place.get('value'), key, value);
    else place.complain(`a valid header; this one ${fault}`);
  }
  return headers;
}

/** @param given settings that only a file can have */
export function exporterSettings(options: Options, given?: Pick<GivenExporter, 'headers'>): ExporterSettings {
  const endpoint = endpointOf(options);
  if (endpoint?.ok !== true) throw new Error('an invalid endpoint passed the rules');
  return {
    ...settingsOf(options, 'exporter'),
    protocol: options.need('otlp_protocol'),
    endpoint: endpoint.value,
    // fromEntries defines own properties, even for a key like __proto__.
    headers: Object.fromEntries(given?.headers ?? options.value('otlp_headers') ?? []),
    insecure: options.need('otlp_insecure'),
  };
}
