/** The table of limits on the lines of a recording, shown in SECURITY.md. It enforces nothing itself. */
import type { HeaderLimit } from '../header-limits.ts';

const BODY_BYTES_MAX = 4.5 * 1024 * 1024;
const HEADERS_MAX = 32 * 1024;

export const LINE_LIMITS = {
  line: {
    unit: 'By',
    // The body in base64, the headers escaped, and the rest.
    max: 4 * Math.ceil(BODY_BYTES_MAX / 3) + 6 * HEADERS_MAX + 8 * 1024,
    meaning:
      'Length of a line. The largest recorded body, 4.5 MiB, takes 6.3 MB in base64; the longest headers take 192 KiB.',
  },
  line_unicode: {
    unit: 'By',
    max: 1024 * 1024,
    meaning:
      'Length of a line with non-ASCII characters, which take longer to decode. Only bodies of up to 64 KiB are recorded as text.',
  },
  line_depth: {
    unit: '{level}',
    max: 80,
    meaning: 'Depth of lists and objects. Only headers have any, since a body is text in a recording.',
  },
  line_structure: {
    unit: 'By',
    // The headers as JSON, the names and arrivedAtMs.
    max: HEADERS_MAX + 1024,
    meaning:
      'Bytes outside of strings, such as numbers. Only headers have any, since everything else is text in a recording.',
  },
  recorded_headers: {
    unit: '{character}',
    max: HEADERS_MAX,
    meaning:
      'Headers of a message as JSON. A message with longer headers is not recorded, and is counted as rejected.',
  },
} as const satisfies Record<string, Omit<HeaderLimit, 'reason'>>;
