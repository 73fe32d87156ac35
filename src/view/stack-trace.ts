/** Finds in a Python traceback the frame that raised, and the frames of libraries. Pure: it draws nothing. */

export type TraceLook = 'plain' | 'library' | 'raised' | 'error';

export interface TracePart {
  readonly look: TraceLook;
  /** One or more whole lines. */
  readonly text: string;
}

const FRAME = /^ {2}File "([^"]*)"/u;
const LIBRARY = /[/\\](?:site-packages|dist-packages|lib[/\\]python[\d.]+)[/\\]|^<frozen /u;

/** Splits the text into parts; adjacent lines of the same look are one part. A text without frames is plain. */
export function traceParts(text: string): readonly TracePart[] {
  const lines = text.split('\n');
  const raised = lines.findLastIndex((line) => FRAME.test(line));
  const parts: { look: TraceLook; text: string }[] = [];
  let look: TraceLook = 'plain';
  for (const [index, line] of lines.entries()) {
    look = lookOf(line, look, index, raised);
    const last = parts.at(-1);
    if (last?.look === look) last.text += `\n${line}`;
    else parts.push({ look, text: line });
  }
  return parts;
}

function lookOf(line: string, before: TraceLook, index: number, raised: number): TraceLook {
  const [, file] = FRAME.exec(line) ?? [];
  if (index === raised) return 'raised';
  if (file !== undefined) return LIBRARY.test(file) ? 'library' : 'plain';
  // The source line of a frame is indented, and looks like its frame.
  if (line.startsWith('    ') && before !== 'error') return before;
  return raised >= 0 && index > raised ? 'error' : 'plain';
}

/** File and line number of the frame that raised; undefined if there is none. */
export function raisedAt(text: string): string | undefined {
  const line = text.split('\n').findLast((each) => FRAME.test(each)) ?? '';
  const [, file, number] = /^ {2}File "([^"]*)", line (\d+)/u.exec(line) ?? [];
  return file === undefined ? undefined : `${file}:${number}`;
}
