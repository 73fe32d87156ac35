/**
 * The table of limits: what is taken of one message, so that none holds the process for long, whatever is in it. It
 * limits nothing itself; whoever reads a body asks it. SECURITY.md shows it.
 */
export interface BodyLimit {
  /** As UCUM writes it, as in the catalog of metrics. */
  readonly unit: string;
  readonly max: number;
  /** Under which of `REJECTION_REASONS` a message beyond it is counted; undefined where it is taken nevertheless. */
  readonly reason: string | undefined;
  /** What is limited, and why nothing honest is beyond it. */
  readonly meaning: string;
}

/**
 * Measured on a core of 2025, the worst shapes take 70 ns a byte and 300 ns a token: nested lists, and objects each with
 * a name of its own. A byte of a text takes 3 ns.
 */
const TABLE = {
  body: {
    unit: 'By',
    max: 2 * 1024 * 1024,
    reason: 'body-too-large',
    meaning:
      'A body, as it came. What is larger is dropped as it comes. A list has at most 24 events; Celery cuts arguments and results to 1,024 characters, and what it does not cut are exceptions: a traceback of a thousand frames, which is as deep as Python goes, has 100 kB. Only an exception with a message of a megabyte, which is in its event twice, is beyond it.',
  },
  unscanned: {
    unit: 'By',
    max: 64 * 1024,
    reason: undefined,
    meaning:
      'A body that is parsed whatever its structure, since no shape takes more than some milliseconds. Those of Celery have 150 to 15,000 bytes, more only with long tracebacks.',
  },
  depth: {
    unit: '{level}',
    max: 32,
    reason: 'nested-too-deep',
    meaning: 'Lists and objects within one another, in a larger body. Celery’s own events nest four deep.',
  },
  tokens: {
    unit: '{token}',
    max: 16 * 1024,
    reason: 'too-many-tokens',
    meaning: 'Values and names, in a larger body. The 24 events of a list have about 1,000.',
  },
  rewritten: {
    unit: '{character}',
    max: 256 * 1024,
    reason: 'invalid-json',
    meaning:
      'A body in which Python wrote NaN or Infinity, which JSON has not: it is parsed twice. Only custom events hold any.',
  },
  batch: {
    unit: '{event}',
    max: 250,
    reason: 'batch-too-long',
    meaning: 'Elements of a list, each of which is counted or rejected by itself. Celery sends at most 24.',
  },
  compressed: {
    unit: 'By',
    max: 256 * 1024,
    reason: 'body-too-large',
    meaning:
      'A compressed body, as it came: some take as long as they are, whatever they become. The longest that Celery sends has 360 kB before compression.',
  },
  expansion: {
    unit: '1',
    max: 4,
    reason: 'expands-too-far',
    meaning:
      'How many times its size a compressed body may always have after decompression. Celery compresses no events; where something else does, a single one becomes half as large.',
  },
  expansion_reserve: {
    unit: 'By',
    max: 384 * 1024,
    reason: 'expands-too-far',
    meaning:
      'What the bodies of a service may have beyond that together: lists of 24 like events, which become a twelfth, need 200 bytes of it for each event. So it is enough for 2,000 that arrive in one instant.',
  },
  expansion_refill: {
    unit: 'By/s',
    max: 4 * 1024 * 1024,
    reason: 'expands-too-far',
    meaning:
      'How quickly that comes back: enough for 20,000 events a second in such lists, and for any number of single ones.',
  },
  zstd_window: {
    unit: 'By',
    max: 2 * 1024 * 1024,
    reason: 'body-too-large',
    meaning:
      'Memory that a body in zstd may ask for, which is its size where it tells that. zstd itself would allow 128 MiB.',
  },
  name: {
    unit: '{character}',
    max: 255,
    reason: undefined,
    meaning:
      'A name: what is longer is cut. An identifier is not, since two might become one: `missing-uuid`.',
  },
  exception: {
    unit: '{character}',
    max: 256,
    reason: undefined,
    meaning:
      'What is looked at of the repr of an exception, and of the line of a traceback that names it. The class stands at the beginning.',
  },
  error_type: {
    unit: '{character}',
    max: 100,
    reason: undefined,
    meaning: 'The class of an exception: what is longer is cut.',
  },
} as const satisfies Record<string, BodyLimit>;

export const BODY_LIMITS: { readonly [L in keyof typeof TABLE]: BodyLimit } = TABLE;
