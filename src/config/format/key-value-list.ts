/**
 * The formats of OpenTelemetry’s `key=value,key=value` lists: headers and resource attributes. They accept what the SDK
 * accepts, and reject what it would silently drop. Messages identify an entry by its number, never by its text, which may be a
 * secret.
 */
import { type Format, format, type Reading } from './formats.ts';
import { MASK, quote } from './redaction.ts';

/** Keys and values in order. It is a Map, so that no key collides with a property of objects, such as `__proto__`. */
export type Pairs = ReadonlyMap<string, string>;

const EXPECTS = 'a percent-encoded list key=value,key=value';

/** The SDK rejects longer keys and values in `OTEL_RESOURCE_ATTRIBUTES`. */
const ATTRIBUTE_CHARS_MAX = 255;

/**
 * Headers. A value may contain `=` and `;`, because these lists have no metadata (“OpenTelemetry Protocol Exporter”,
 * “Specifying headers via environment variables”); `parseKeyPairsIntoRecord` of `@opentelemetry/core` would cut off what it
 * takes for metadata. Headers that gRPC metadata cannot contain are rejected, since the first export would fail.
 */
export const headerList: Format<Pairs> = format(EXPECTS, (text) => readList(text, readHeader), {
  // Keys are hidden too: if a key is missing, the text before the first = is the secret.
  show: () => quote(MASK),
});

function readHeader(entry: string): [string, string] | string {
  const border = entry.indexOf('=');
  if (border < 1) return 'is not key=value';
  const key = decode(entry.slice(0, border))?.toLowerCase();
  const value = decode(entry.slice(border + 1));
  if (key === undefined || value === undefined) return 'has an invalid percent-encoding';
  return headerFault(key, value) ?? [key, value];
}

/** The fault of a header; undefined if it is valid. @param key in lower case */
export function headerFault(key: string, value: string): string | undefined {
  if (!/^[0-9a-z_.-]+$/.test(key)) return 'has a key with invalid characters';
  if (key.endsWith('-bin') || key.startsWith('grpc-')) return 'has a key that is reserved by gRPC';
  if (value === '') return 'has an empty value';
  if (!/^[ -~]+$/.test(value)) return 'has a value that is not printable ASCII';
  return undefined;
}

/**
 * Resource attributes, read like `ResourceAttributesEnvDetector` of `@opentelemetry/resources` does: `,` and `=` in keys and
 * values must be percent-encoded, and a value may be empty.
 */
export const attributeList: Format<Pairs> = format(EXPECTS, (text) => readList(text, readAttribute));

function readAttribute(entry: string): [string, string] | string {
  const parts = entry.split('=');
  // JSON is refused, since it would become part of a key, and no name of an attribute begins with a bracket.
  if (/^\s*[[{]/u.test(entry)) return 'is JSON, and not key=value';
  const [key, value] = parts.map(decode);
  if (parts.length !== 2 || parts[0]?.trim() === '') return 'is not key=value (write = in a value as %3D)';
  if (key === undefined || value === undefined) return 'has an invalid percent-encoding';
  if (key.length > ATTRIBUTE_CHARS_MAX || value.length > ATTRIBUTE_CHARS_MAX) {
    return `has a key or a value longer than ${ATTRIBUTE_CHARS_MAX} characters`;
  }
  return [key, value];
}

/** Reads all entries and reports all invalid ones. The last value of a key wins. */
function readList(text: string, readEntry: (entry: string) => [string, string] | string): Reading<Pairs> {
  const pairs = new Map<string, string>();
  const complaints: string[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue;
    const result = readEntry(entry);
    if (typeof result === 'string') complaints.push(`entry ${index + 1} ${result}`);
    else pairs.set(...result);
  }
  if (complaints.length === 0) return { ok: true, value: pairs };
  return { ok: false, expected: `${EXPECTS}: ${complaints.join('; ')}` };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.trim());
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
