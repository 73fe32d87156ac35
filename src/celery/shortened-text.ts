/**
 * Selects the parts of a long string in a body that are parsed: enough to find the same exception class as in the whole
 * string, and more of a traceback if wanted. The parts are JSON, and are never decoded here. Pure.
 */
import { beginning } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';
import { HEADER, isEscaped, NAME_FOLLOWS, namedEnd } from './traceback.ts';

/** Bytes of each part: more than is later read of a name or an exception, even if every character is escaped. */
const PART_BYTES = BODY_LIMITS.part.max;
/** If tracebacks are wanted: bytes of the beginning of a traceback, and at most of its innermost frames. */
const STACK_BYTES = BODY_LIMITS.stack.max;

/** How the first line of a frame begins in an ordinary traceback, and in the traceback of an exception group. */
const FRAMES = ['  File ', '  |   File '];
/** A line break as JSON escapes it. */
const LINE_BREAK = '\\n';

/**
 * The parts of a long string from which the class of its exception can be read.
 * @param json the bytes between the quotes of a JSON string, in UTF-8 or Latin-1
 */
export function namingParts(json: Buffer): readonly Buffer[] {
  return [json, ...namedEnd(json)].map((part) => beginning(part, PART_BYTES));
}

/** Like `namingParts`, with more of the beginning, and with the innermost frames. `withoutSeam` makes one traceback of them. */
export function stackParts(json: Buffer): readonly Buffer[] {
  const [chained, named] = namedEnd(json);
  const namedAt = json.length - named.length;
  const framesAt = innermostFrames(json, namedAt);
  const [head, name] = [beginning(json, STACK_BYTES), beginning(named, PART_BYTES)];
  if (framesAt === undefined) return [head, chained, name];
  const from = Math.max(framesAt, head.length);
  const frames = json.subarray(from, namedAt);
  const parts = [head, Buffer.from(LINE_BREAK + omissionLine(from - head.length)), chained, frames, name];
  // The frames are left out if they would change which exception is found.
  const isSameNameFound = namedEnd(Buffer.concat(parts))[1].length === name.length;
  return isSameNameFound ? parts : [head, chained, name];
}

/** Where those innermost frames of the last exception begin that fit into `STACK_BYTES`; undefined if there are none. */
function innermostFrames(json: Buffer, namedAt: number): number | undefined {
  const header = json.lastIndexOf(HEADER + LINE_BREAK, namedAt);
  if (header < 0) return undefined;
  const fromAt = Math.max(header, namedAt - STACK_BYTES);
  for (const frame of FRAMES) {
    const at = json.indexOf(LINE_BREAK + frame, fromAt);
    if (at >= 0 && at < namedAt && !isEscaped(json, at)) return at + LINE_BREAK.length;
  }
  return undefined;
}

/** The line that replaces the middle of a traceback. @param bytes how many bytes are left out */
export function omissionLine(bytes: number): string {
  return `[... ${bytes} bytes left out ...]`;
}

/** An omission line at the end of a text. */
const SEAM = /\n\[\.\.\. \d+ bytes left out \.\.\.\]$/u;

/** A traceback made of {@link stackParts}, without the lines that were inserted only for finding the name. */
export function withoutSeam(traceback: string): string {
  const at = traceback.lastIndexOf(NAME_FOLLOWS);
  if (at < 0) return traceback;
  const before = traceback.slice(0, at);
  return SEAM.test(before.slice(-64)) ? `${before}\n${traceback.slice(at + NAME_FOLLOWS.length)}` : traceback;
}
