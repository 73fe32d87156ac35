/** The table of limits on the lines of a recording, shown in SECURITY.md. It enforces nothing itself. */
import type { HeaderLimit } from '../header-limits.ts';

const BODY_BYTES_MAX = 5 * 1024 * 1024;
const HEADERS_MAX = 32 * 1024;

export const LINE_LIMITS = {
  line: {
    unit: 'By',
    // The body in base64, the headers in UTF-8, and all else.
    max: 4 * Math.ceil(BODY_BYTES_MAX / 3) + 3 * HEADERS_MAX + 8 * 1024,
    meaning:
      'Length of a line. The largest body that is recorded, 5 MiB, has 7 MB there, in base64; the longest headers have 96 KiB.',
  },
  line_depth: {
    unit: '{level}',
    max: 80,
    meaning: 'Depth of lists and objects. Only those of the headers count, since a body is text there.',
  },
  line_tokens: {
    unit: '{token}',
    max: 24 * 1024,
    meaning:
      'Values and names. 32 times as many bytes may be outside of strings. Headers that are recorded have fewer.',
  },
  recorded_headers: {
    unit: '{character}',
    max: HEADERS_MAX,
    meaning:
      'Headers of a message as JSON. A message with longer ones is not recorded, and is counted as such.',
  },
} as const satisfies Record<string, Omit<HeaderLimit, 'reason'>>;
