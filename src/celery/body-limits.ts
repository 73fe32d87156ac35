/**
 * The table of limits on one message, so that no message can block the process. It only holds the numbers, and enforces
 * none. SECURITY.md lists them.
 */
import { NAME_BYTES_MAX } from '../text/json-structure.ts';

export interface BodyLimit {
  /** The unit of `max` in UCUM, as in the catalog of metrics. */
  readonly unit: string;
  readonly max: number;
  /** The reason for rejecting a message that exceeds the limit; undefined if such a message is accepted. */
  readonly reason: string | undefined;
  /** The size or time that is limited, and why genuine messages stay within the limit. */
  readonly meaning: string;
}

/** The processor time of a compressed body in the worst case, measured on a CPU core of 2025. */
export const EXPANSION_COSTS = {
  /** Nanoseconds per compressed byte, by compression. */
  compressedByteNs: { zlib: 100, brotli: 1700, zstd: 250 },
  /** Nanoseconds per decompressed byte, mostly for parsing it. */
  expandedByteNs: 70,
  /** Milliseconds for a body whose decompression is aborted because it expands too far or is corrupt. */
  abortedMs: 4,
} as const;

const { compressedByteNs, expandedByteNs, abortedMs } = EXPANSION_COSTS;
const COMPRESSED_BYTES_MAX = 12 * 1024;
const EXPANSION_MS_MAX = 650;
const us = (ns: number) => `${ns / 1000} µs`;
const timesASecond = (ms: number) => Math.floor(EXPANSION_MS_MAX / ms);

/**
 * Parsing times, measured on a CPU core of 2025. The worst cases are nested lists, and objects whose names all differ: 70 ns
 * per byte and 300 ns per token. A byte of a string takes 3 ns, or 5 ns if the string is not pure ASCII; a byte of a long
 * number takes 11 ns.
 */
const TABLE = {
  body: {
    unit: 'By',
    max: 4.5 * 1024 * 1024,
    reason: 'body-too-large',
    meaning:
      'Size of a body as it arrives. A larger one is dropped while it arrives. Celery sends at most 24 events in a list, and cuts arguments and results to 1,024 characters. It does not cut exceptions: a traceback of a thousand frames, which is as deep as Python goes, has up to 190 kB if functions call each other in turn, and 24 of them have 4.6 MB.',
  },
  text: {
    unit: 'By',
    max: 16 * 1024,
    reason: undefined,
    meaning:
      'Length of a string in a scanned body. Of a longer string, only parts are parsed. Only exceptions and tracebacks are that long.',
  },
  part: {
    unit: 'By',
    max: 2 * 1024,
    reason: undefined,
    meaning:
      'Length of each of the two parts of a longer string that are parsed: the first begins with the string, the second with the name of the last exception in a traceback. Counting uses no more of shorter strings either, so shortening changes no count.',
  },
  stack: {
    unit: 'By',
    max: 6 * 1024,
    reason: undefined,
    meaning:
      'With logs or traces: length of the first part, and of a third part that is parsed, the innermost frames of a traceback. Neither applies if the body would become too large.',
  },
  kept: {
    unit: 'By',
    max: 1.5 * 1024 * 1024,
    reason: 'body-too-large',
    meaning:
      'Size of a body with its long strings shortened. 24 events with strings just below the limit have 0.8 MiB.',
  },
  unscanned: {
    unit: 'By',
    max: 16 * 1024,
    reason: undefined,
    meaning:
      'A body up to this size is not scanned before it is parsed, since parsing it takes a few milliseconds at most. Celery’s bodies have 150 to 15,000 bytes, and more only with long tracebacks.',
  },
  depth: {
    unit: '{level}',
    max: 32,
    reason: 'nested-too-deep',
    meaning: 'Depth of lists and objects in a larger body. Celery’s own events are nested four deep.',
  },
  tokens: {
    unit: '{token}',
    max: 16 * 1024,
    reason: 'too-many-tokens',
    meaning:
      'Values and names in a larger body. Up to 32 times as many bytes may be outside of strings. The 24 events of a list have about 1,000 values and names, and 5 kB outside of strings.',
  },
  property: {
    unit: 'By',
    max: NAME_BYTES_MAX,
    reason: 'name-too-long',
    meaning:
      'Length of a name within an object of a larger body, escaped. V8 compares names of more than 16,383 characters with all that it has seen of the same length. Celery’s have up to 20.',
  },
  rewritten: {
    unit: '{character}',
    max: 256 * 1024,
    reason: 'invalid-json',
    meaning:
      'Size of a body, with its long strings shortened, in which Python wrote NaN or Infinity, which JSON does not have, so that it is parsed twice. Only custom events have them.',
  },
  batch: {
    unit: '{event}',
    max: 100,
    reason: 'batch-too-long',
    meaning: 'Elements of a list. Each is counted or rejected individually. Celery sends at most 24.',
  },
  compressed: {
    unit: 'By',
    max: COMPRESSED_BYTES_MAX,
    reason: 'body-too-large',
    meaning: `Size of a compressed body as it arrives: the time to decompress it depends on that, and is up to ${us(compressedByteNs.brotli)} per byte for brotli, ${us(compressedByteNs.zstd)} for zstd and ${us(compressedByteNs.zlib)} for zlib. Celery does not compress events. Where another program compresses them, a list of 24 events has less than 1 kB, or a few kB with tracebacks.`,
  },
  expanded: {
    unit: 'By',
    max: 384 * 1024,
    reason: 'expands-too-far',
    meaning:
      'Size of a body after decompression: two of the longest tracebacks, or lists of 24 events with ordinary ones.',
  },
  expansion: {
    unit: '1',
    max: 250,
    reason: 'expands-too-far',
    meaning:
      'How many times its size a compressed body may expand to. Lists of 24 similar events shrink to a twelfth, long tracebacks to a hundredth.',
  },
  expansion_cost: {
    unit: 'ms/s',
    max: EXPANSION_MS_MAX,
    reason: 'decompression-too-costly',
    meaning: `Processor time that the compressed bodies of a service may take, after a quiet second all at once. Each counts as the worst of its kind: the times per compressed byte above, ${expandedByteNs} ns per expanded byte, and ${abortedMs} ms if it is corrupt or expands too far. That is enough for 10,000 events a second in lists of 24, whatever the compression, or for 1,900 single ones in brotli, 8,000 in zstd, 15,000 in zlib. Hostile bodies can use it up: ${timesASecond((COMPRESSED_BYTES_MAX * compressedByteNs.brotli) / 1e6)} of the longest brotli bodies a second, or ${timesASecond(abortedMs)} bombs. Until they end, honest compressed events are dropped as well. Bodies without compression, which are all that Celery sends, are never affected.`,
  },
  zstd_window: {
    unit: 'By',
    max: 2 * 1024 * 1024,
    reason: 'body-too-large',
    meaning:
      'Memory that a zstd body may request, which is its expanded size if it declares that. zstd itself allows 128 MiB.',
  },
  name: {
    unit: '{character}',
    max: 255,
    reason: undefined,
    meaning:
      'Length of a name or an id. A longer name is cut. A longer id is rejected as `missing-uuid`, since two cut ids could become the same.',
  },
  exception: {
    unit: '{character}',
    max: 256,
    reason: undefined,
    meaning:
      'How many characters are read of the repr of an exception, and of the line that names it in a traceback. The class is at the beginning.',
  },
  message: {
    unit: '{character}',
    max: 1024,
    reason: undefined,
    meaning:
      'With logs or traces: length of exception messages, and of the reprs of arguments and results. A longer one is cut, as Celery does with the latter.',
  },
  stacktrace: {
    unit: 'By',
    max: 16 * 1024,
    reason: undefined,
    meaning: 'With logs or traces: length of a traceback, in UTF-8. A longer one is cut in the middle.',
  },
  error_type: {
    unit: '{character}',
    max: 100,
    reason: undefined,
    meaning: 'Length of the class of an exception. A longer one is cut.',
  },
} as const satisfies Record<string, BodyLimit>;

export const BODY_LIMITS: { readonly [L in keyof typeof TABLE]: BodyLimit } = TABLE;
