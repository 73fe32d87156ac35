/**
 * Selects the parts of a long string in a body that are parsed: enough to find the same exception class as in the whole
 * string, and more of a traceback if wanted. The parts are JSON, and are never decoded here. Pure.
 */
import { beginning } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';
import { HEADER, isEscaped, NAME_FOLLOWS, naming } from './traceback.ts';

/** More than is read of a name or an exception, even if every character is escaped. */
const PART_BYTES = BODY_LIMITS.part.max;
const STACK_BYTES = BODY_LIMITS.stack.max;

/** How the line of a frame begins in a traceback, and in that of an exception group. */
const FRAMES = ['  File ', '  |   File '];
const LINE_BREAK = '\\n';

/** @param json the bytes between the quotes of a JSON string, in UTF-8 or Latin-1 */
export function namingParts(json: Buffer): readonly Buffer[] {
  return [json, ...naming(json)].map((part) => beginning(part, PART_BYTES));
}

/** Like `namingParts`, with more of the beginning, and with the innermost frames. `withoutSeam` joins them to one traceback. */
export function stackParts(json: Buffer): readonly Buffer[] {
  const [follows, named] = naming(json);
  const namedAt = json.length - named.length;
  const framesAt = innermostFrames(json, namedAt);
  const [head, name] = [beginning(json, STACK_BYTES), beginning(named, PART_BYTES)];
  if (framesAt === undefined) return [head, follows, name];
  const from = Math.max(framesAt, head.length);
  const frames = json.subarray(from, namedAt);
  const parts = [head, Buffer.from(LINE_BREAK + leftOut(from - head.length)), follows, frames, name];
  // Without the frames if they would change which exception is found.
  const isFound = naming(Buffer.concat(parts))[1].length === name.length;
  return isFound ? parts : [head, follows, name];
}

/** Where the innermost frames of the last exception begin that fit into `STACK_BYTES`. */
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

/** The line that replaces what is left out. */
export function leftOut(bytes: number): string {
  return `[... ${bytes} bytes left out ...]`;
}

const SEAM = /\n\[\.\.\. \d+ bytes left out \.\.\.\]$/u;

/** A traceback made of {@link stackParts}, without the lines that were inserted only so that the name is found. */
export function withoutSeam(traceback: string): string {
  const at = traceback.lastIndexOf(NAME_FOLLOWS);
  if (at < 0) return traceback;
  const before = traceback.slice(0, at);
  return SEAM.test(before.slice(-64)) ? `${before}\n${traceback.slice(at + NAME_FOLLOWS.length)}` : traceback;
}
