/**
 * The format of recordings: one JSON document per line: a header, then the raw messages, whose headers are converted to
 * JSON and everything else kept as it is. Pure; decoding never throws, whatever the file contains.
 *
 * Version 1. Readers ignore unknown keys; a change that they must not ignore needs a new version.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { excessOf, isJsonObject, NAME_BYTES_MAX } from '../../text/json-structure.ts';
import { failed, type Parsed } from '../../text/parsed.ts';
import type { RawMessage } from '../broker.ts';
import { LINE_LIMITS } from './line-limits.ts';

/** Only messages with a body are recorded. */
export type WholeMessage = RawMessage & { readonly body: Buffer };

const FORMAT = 'celery-otel-recording';
const VERSION = 1;
/** The largest body written as text. Larger ones are in base64, whose size is predictable: a byte of text may take six in JSON. */
const READABLE_BODY_BYTES_MAX = 64 * 1024;
const UNICODE_BYTES_MAX = LINE_LIMITS.line_unicode.max;
const STRUCTURE = { depthMax: LINE_LIMITS.line_depth.max, unquotedMax: LINE_LIMITS.line_structure.max };
/** The UTF-16 units that JSON escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the rest of ASCII.
const NOT_ASCII = /[^\x00-\x7f]/g;
/** The latest arrival time, in the year 2106: elsewhere, seconds are kept in 32 bits. */
const ARRIVED_AT_MS_MAX = 2 ** 32 * 1000 - 1;

/** The first line. @param recordedAtMs when the recording began, epoch ms */
export function encodeHeader(recordedAtMs: number): string {
  return JSON.stringify({
    format: FORMAT,
    version: VERSION,
    recordedAt: new Date(recordedAtMs).toISOString(),
  });
}

/** Parses the first line. */
export function decodeHeader(line: Buffer): Parsed<{ readonly recordedAtMs: number }> {
  const parsed = parseObject(line);
  if (!parsed.ok) return parsed;
  const { fields } = parsed;
  if (fields['format'] !== FORMAT) return failed(`is not the header of a ${FORMAT}`);
  if (fields['version'] !== VERSION) return failed(`has a version other than ${VERSION}`);
  const recordedAt = fields['recordedAt'];
  const recordedAtMs = typeof recordedAt === 'string' ? Date.parse(recordedAt) : Number.NaN;
  return Number.isNaN(recordedAtMs) ? failed('has no valid recordedAt') : { ok: true, recordedAtMs };
}

/** One message as a line without its line feed; fails if the message is incomplete or has an unsupported value. */
export function encodeMessage(message: RawMessage): Parsed<{ readonly line: string }> {
  const { arrivedAtMs, exchange, routingKey, contentType, contentEncoding, headers, body } = message;
  if (headers === undefined) return failed('its headers cannot be decoded');
  if (body === undefined) return failed('its body is too large');
  if (!isTime(arrivedAtMs)) return failed('it has no valid arrivedAtMs');
  const properties = { arrivedAtMs, exchange, routingKey, contentType, contentEncoding };
  let headersText: string;
  try {
    headersText = JSON.stringify(headers, asText);
  } catch {
    return failed('its headers cannot be written');
  }
  if (headersText.length > LINE_LIMITS.recorded_headers.max) return failed('its headers are too long');
  const isReadable = body.length <= READABLE_BODY_BYTES_MAX && isUtf8(body);
  const text = `${JSON.stringify(properties).slice(0, -1)},"headers":${headersText}`;
  const line = isReadable
    ? `${text},"body":${JSON.stringify(body.toString('utf8'))}}`
    : `${text.replace(NOT_ASCII, escaped)},"bodyBase64":"${body.toString('base64')}"}`;
  return { ok: true, line };
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Converts numbers that JSON lacks to text. A replay still rejects the same messages: only the compression header is read,
 * and no compression has a number, or the text of one, as its name.
 */
function asText(_key: string, value: unknown): unknown {
  const isLacking = typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value));
  return isLacking ? String(value) : value;
}

/** Parses any line but the first. */
export function decodeMessage(line: Buffer): Parsed<{ readonly message: WholeMessage }> {
  const parsed = parseObject(line);
  if (!parsed.ok) return parsed;
  const { arrivedAtMs, exchange, routingKey, contentType, contentEncoding, headers } = parsed.fields;
  if (!isTime(arrivedAtMs)) return failed('has no valid arrivedAtMs');
  if (typeof exchange !== 'string') return failed('has no exchange');
  if (typeof routingKey !== 'string') return failed('has no routingKey');
  if (typeof contentType !== 'string') return failed('has no contentType');
  if (typeof contentEncoding !== 'string') return failed('has no contentEncoding');
  const body = decodeBody(parsed.fields['body'], parsed.fields['bodyBase64']);
  if (body === undefined) return failed('needs either a body or a valid bodyBase64');
  if (!isJsonObject(headers)) return failed('has no headers');
  return {
    ok: true,
    message: { arrivedAtMs, exchange, routingKey, contentType, contentEncoding, headers, body },
  };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= ARRIVED_AT_MS_MAX;
}

function decodeBody(readable: unknown, base64: unknown): Buffer | undefined {
  if (typeof readable === 'string' && base64 === undefined) return Buffer.from(readable, 'utf8');
  return typeof base64 === 'string' && readable === undefined ? decodeBase64(base64) : undefined;
}

function parseObject(line: Buffer): Parsed<{ readonly fields: Readonly<Record<string, unknown>> }> {
  if (!isUtf8(line)) return failed('is not UTF-8');
  const isAsciiOnly = isAscii(line);
  if (!isAsciiOnly && line.length > UNICODE_BYTES_MAX)
    return failed(`has more than ${UNICODE_BYTES_MAX} bytes, and not only ASCII`);
  const excess = excessOf(line, STRUCTURE);
  if (excess === 'nested-too-deep') return failed(`is nested more than ${STRUCTURE.depthMax} deep`);
  if (excess === 'name-too-long') return failed(`has a name of more than ${NAME_BYTES_MAX} bytes`);
  if (excess !== undefined) return failed(`has more than ${STRUCTURE.unquotedMax} bytes outside of strings`);
  let value: unknown;
  try {
    value = JSON.parse(line.toString(isAsciiOnly ? 'latin1' : 'utf8'));
  } catch (error) {
    // Without the error’s message, since it quotes the line.
    if (error instanceof SyntaxError) return failed('is not JSON');
    throw error;
  }
  return isJsonObject(value) ? { ok: true, fields: value } : failed('is not a JSON object');
}

/** The decoded bytes; undefined if the text is not canonical base64, of which Node would skip invalid characters. */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
