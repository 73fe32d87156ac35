/** The table of limits on the lines of a recording, shown in SECURITY.md. It enforces nothing itself. */
import type { HeaderLimit } from '../header-limits.ts';

const BODY_BYTES_MAX = 4.5 * 1024 * 1024;
const HEADERS_MAX = 32 * 1024;

export const LINE_LIMITS = {
  line: {
    unit: 'By',
    // The body in base64, the headers escaped, and all else.
    max: 4 * Math.ceil(BODY_BYTES_MAX / 3) + 6 * HEADERS_MAX + 8 * 1024,
    meaning:
      'Length of a line. The largest body that is recorded, 4.5 MiB, has 6.3 MB there, in base64; the longest headers have 192 KiB.',
  },
  line_unicode: {
    unit: 'By',
    max: 1024 * 1024,
    meaning:
      'Length of a line with characters beyond ASCII, which take longer to decode. Only bodies of up to 64 KiB are recorded as text.',
  },
  line_depth: {
    unit: '{level}',
    max: 80,
    meaning: 'Depth of lists and objects. Only those of the headers count, since a body is text there.',
  },
  line_structure: {
    unit: 'By',
    // The headers as JSON, the names and arrivedAtMs.
    max: HEADERS_MAX + 1024,
    meaning:
      'Bytes outside of strings, such as numbers. Only those of the headers count, since all else is text there.',
  },
  recorded_headers: {
    unit: '{character}',
    max: HEADERS_MAX,
    meaning:
      'Headers of a message as JSON. A message with longer ones is not recorded, and is counted as such.',
  },
} as const satisfies Record<string, Omit<HeaderLimit, 'reason'>>;
