/**
 * Finds the line of a Python traceback that names the exception raised last, in a decoded string or in the undecoded JSON of
 * a long one. It never reads the class in that line, and never decodes JSON. Pure.
 */

/** The line that Python's `traceback` writes above the frames of an exception. */
export const HEADER = 'Traceback (most recent call last):';
/** The lines that it writes between two exceptions, each between empty lines. */
const BETWEEN = {
  during: 'During handling of the above exception, another exception occurred:',
  because: 'The above exception was the direct cause of the following exception:',
};
type Between = keyof typeof BETWEEN;
/** Precedes the frames of an exception group itself; those of its members are indented further. */
const GROUP_MARGIN = '  | ';
const INDENT = ' ';
const SPACE = 0x20;
const BAR = 0x7c;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;

/** A string, or the bytes between the quotes of a JSON string. */
type Text = string | Buffer;

/** How to search one form of text: a decoded string, or JSON. */
interface Form<T extends Text> {
  readonly lineBreak: string;
  /** The last position of this line between exceptions, including the empty line before it; negative if there is none. */
  readonly lastIndexOf: (text: T, line: Between) => number;
  readonly startsWith: (text: T, part: string, at: number) => boolean;
  /** The position of the first line after the frames; negative if there is none. */
  readonly afterFrames: (text: T, at: number, isGroup: boolean) => number;
}

/**
 * The position of the name of the last exception, which begins the first line after its frames. The lines below are its
 * message and notes, which may contain anything. Negative if that line is missing.
 */
function lastNameAt<T extends Text>(text: T, form: Form<T>): number {
  const from = Math.max(0, form.lastIndexOf(text, 'during'), form.lastIndexOf(text, 'because'));
  const header = text.indexOf(HEADER + form.lineBreak, from);
  const at = header < 0 ? from : header + HEADER.length + form.lineBreak.length;
  const isGroup = form.startsWith(text, GROUP_MARGIN, at);
  const margin = isGroup ? GROUP_MARGIN : '';
  if (!form.startsWith(text, margin + INDENT, at)) return at + margin.length;
  const line = form.afterFrames(text, at, isGroup);
  return line >= 0 && form.startsWith(text, margin, line) ? line + margin.length : -1;
}

/** The line break after the frames. A regular expression is faster than a loop over many lines. */
const END_OF_FRAMES = /\n(?! )/gu;
const END_OF_GROUP_FRAMES = /\n(?! {2}\| {2})/gu;

const PLAIN: Form<string> = {
  lineBreak: '\n',
  lastIndexOf: (text, line) => text.lastIndexOf(`\n\n${BETWEEN[line]}\n\n`),
  startsWith: (text, part, at) => text.startsWith(part, at),
  afterFrames(text, at, isGroup) {
    const end = isGroup ? END_OF_GROUP_FRAMES : END_OF_FRAMES;
    end.lastIndex = at;
    const found = end.exec(text);
    return found === null ? -1 : found.index + 1;
  },
};

/** An empty line and the line break before it, escaped. */
const EMPTY_LINE = '\\n\\n';
const BETWEEN_IN_JSON = {
  during: Buffer.from(`${BETWEEN.during}${EMPTY_LINE}`),
  because: Buffer.from(`${BETWEEN.because}${EMPTY_LINE}`),
};

const IN_JSON: Form<Buffer> = {
  lineBreak: '\\n',
  /** Searches for the words of the line first, since line breaks are far more frequent. */
  lastIndexOf(text, line) {
    const words = BETWEEN_IN_JSON[line];
    let at = text.lastIndexOf(words);
    while (at > 0) {
      const before = at - EMPTY_LINE.length;
      if (this.startsWith(text, EMPTY_LINE, before) && !isEscaped(text, before)) return before;
      at = text.lastIndexOf(words, at - 1);
    }
    return -1;
  },
  startsWith(text, part, at) {
    let place = 0;
    while (place < part.length && text[at + place] === part.charCodeAt(place)) place += 1;
    return place === part.length;
  },
  /** Reads byte by byte, so that an escaped backslash before an `n` is no line break. */
  afterFrames(text, at, isGroup) {
    const { length } = text;
    let position = at;
    while (position < length) {
      if (text[position] !== BACKSLASH) {
        position += 1;
      } else {
        position += 2;
        if (text[position - 1] === LETTER_N && !isFrameLine(text, position, isGroup)) return position;
      }
    }
    return -1;
  },
};

/** Whether a line begins with the indent of frames, which follows the margin in an exception group. */
function isFrameLine(text: Buffer, at: number, isGroup: boolean): boolean {
  if (text[at] !== SPACE) return false;
  if (!isGroup) return true;
  return text[at + 1] === SPACE && text[at + 2] === BAR && text[at + 3] === SPACE && text[at + 4] === SPACE;
}

/** Whether an odd number of backslashes precedes: then the `\n` here is the end of an escaped backslash, and an `n`. */
export function isEscaped(text: Buffer, at: number): boolean {
  let first = at;
  while (text[first - 1] === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** The position of the name of the last exception; negative if there is none. */
export function nameInTraceback(traceback: string): number {
  return lastNameAt(traceback, PLAIN);
}

/** The lines that are inserted before a name, so that {@link nameInTraceback} finds it whatever precedes them. */
export const NAME_FOLLOWS = `\n\n${BETWEEN.during}\n\n${HEADER}\n`;
const NAME_FOLLOWS_IN_JSON = Buffer.from(NAME_FOLLOWS.replaceAll('\n', IN_JSON.lineBreak));

/**
 * The end of a traceback from the name on, and the lines to insert before it: whatever precedes these two parts,
 * {@link nameInTraceback} then finds the same name as in the whole traceback.
 * @param json the bytes between the quotes of a JSON string, in UTF-8 or Latin-1; the string need not be a traceback
 * @returns first the lines to insert, then the end of the traceback, both as JSON
 */
export function namedEnd(json: Buffer): readonly [chained: Buffer, named: Buffer] {
  const at = lastNameAt(json, IN_JSON);
  return [NAME_FOLLOWS_IN_JSON, json.subarray(at < 0 ? json.length : at)];
}
