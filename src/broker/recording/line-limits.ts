/** The table of limits on the lines of a recording, shown in SECURITY.md. It enforces nothing itself. */
import type { HeaderLimit } from '../header-limits.ts';

/** In bytes; the body before it is encoded in base64. */
const LARGEST = { body: 2 * 1024 * 1024, headersCharacter: 3, allElse: 8 * 1024 } as const;
const HEADERS_MAX = 32 * 1024;

export const LINE_LIMITS = {
  line: {
    unit: 'By',
    max: 4 * Math.ceil(LARGEST.body / 3) + LARGEST.headersCharacter * HEADERS_MAX + LARGEST.allElse,
    meaning:
      'Length of a line. The largest body that is recorded, 2 MiB, has 2.8 MB there, in base64; the longest headers have 96 KiB.',
  },
  line_depth: {
    unit: '{level}',
    max: 80,
    meaning: 'Depth of lists and objects. Only those of the headers count, since a body is text there.',
  },
  line_tokens: {
    unit: '{token}',
    max: 24 * 1024,
    meaning: 'Values and names. Headers that are recorded have fewer.',
  },
  recorded_headers: {
    unit: '{character}',
    max: HEADERS_MAX,
    meaning:
      'Headers of a message as JSON. A message with longer ones is not recorded, and is counted as such.',
  },
} as const satisfies Record<string, Omit<HeaderLimit, 'reason'>>;
