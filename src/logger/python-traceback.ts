/**
 * Reads Python's formatted tracebacks line by line: finds the frames of the last exception, and removes exception messages. It
 * ignores the lines between frames (source, `^^^^`), and reads each line once. Pure.
 */
import { isGap } from './bounded-text.ts';

const HEADER = /^(?: {2}\+ Exception Group )?Traceback \(most recent call last\):$/;
/** Checked before `FRAME`, because it is faster, and most lines are not frames. */
const FRAME_BEGINS = '  File "';
const FRAME = /^ {2}File "([^"]{1,1024})", line \d{1,9}, in (.{1,256})$/;
const BETWEEN = new Set([
  'During handling of the above exception, another exception occurred:',
  'The above exception was the direct cause of the following exception:',
]);
/** Precedes the lines of an exception group; it is longer for those of its members. */
const MARGIN = /^ {2,64}\|(?: |$)/;
/** Longest margin of a group itself. */
const GROUP_MARGIN_CHARS = 4;
/** The lines that separate the members of a group. */
const RULE = /^ {2,64}\+-[+-]*(?: (?:\d{1,9}|\.\.\.) -+)?$/;
/** The class at the beginning of the line that names an exception. */
const CLASS = /^[\p{XIDS}_][\p{XIDC}.<>]{0,255}/u;
/** The directory in which packages are installed, which differs from host to host. */
const INSTALLED = /^.*[/\\](?:(?:site|dist)-packages|lib[/\\]python\d[\d.]{0,7})[/\\]/;

export interface Frame {
  /** Without that directory. */
  readonly file: string;
  readonly function: string;
}

interface Line {
  readonly kind: 'header' | 'frame' | 'source' | 'name' | 'message' | 'between' | 'rule' | 'gap';
  readonly margin: string;
  /** Without the margin. */
  readonly text: string;
}

/** Where a line is: before the header of an exception, among its frames up to its name, in its message, or after a gap. */
type State = 'start' | 'frames' | 'message' | 'gap';

function* linesOf(stacktrace: string): Generator<Line> {
  const lines = stacktrace.split('\n').map((whole) => {
    const margin = whole.includes('|') ? (MARGIN.exec(whole)?.[0] ?? '') : '';
    return { margin, text: whole.slice(margin.length) };
  });
  let state: State = 'start';
  let isGroup = false;
  for (const [n, { margin, text }] of lines.entries()) {
    isGroup ||= margin !== '' && state === 'frames';
    const isBetween =
      text.endsWith(':') &&
      BETWEEN.has(text) &&
      lines[n - 1]?.text === '' &&
      lines[n + 1]?.text === '' &&
      HEADER.test(lines[n + 2]?.text ?? '');
    let kind: Line['kind'] = 'message';
    if (isBetween) kind = 'between';
    else if (isGroup && margin === '' && RULE.test(text)) kind = 'rule';
    else if (isGap(text)) kind = 'gap';
    else if (state !== 'message') kind = kindAbove(text, state);
    state = after(kind, state);
    yield { kind, margin, text };
  }
}

/** The kind of a line that is not part of a message. */
function kindAbove(text: string, state: Exclude<State, 'message'>): Line['kind'] {
  if (text.startsWith(FRAME_BEGINS) && FRAME.test(text)) return 'frame';
  if (state === 'gap') return 'message';
  if (text === '' || (state === 'frames' && text.startsWith('  '))) return 'source';
  return state === 'start' && HEADER.test(text) ? 'header' : 'name';
}

function after(kind: Line['kind'], state: State): State {
  switch (kind) {
    case 'header':
    case 'frame':
      return 'frames';
    case 'name':
      return 'message';
    case 'between':
    case 'rule':
      return 'start';
    case 'gap':
      return 'gap';
    case 'source':
    case 'message':
      return state;
    default:
      return kind satisfies never;
  }
}

/** The innermost frames of the exception that was raised last; for a group, its own frames, not those of its members. */
export function lastFrames(stacktrace: string, framesMax: number): readonly Frame[] {
  let frames: Frame[] = [];
  let isNamed = false;
  for (const { kind, margin, text } of linesOf(stacktrace)) {
    if (margin.length > GROUP_MARGIN_CHARS) continue;
    if (kind === 'header' || (kind === 'frame' && isNamed)) {
      frames = [];
      isNamed = false;
    }
    if (kind === 'name') isNamed = true;
    const [, file, name] = kind === 'frame' ? (FRAME.exec(text) ?? []) : [];
    if (file === undefined || name === undefined) continue;
    frames.push({ file: file.replace(INSTALLED, '').replaceAll('\\', '/'), function: name });
    if (frames.length > framesMax) frames.shift();
  }
  return frames;
}

/** The traceback with the exceptions’ classes, but without their messages. */
export function withoutMessages(stacktrace: string): string {
  const kept: string[] = [];
  for (const { kind, margin, text } of linesOf(stacktrace)) {
    if (kind === 'between') kept.push(margin);
    if (kind === 'name') kept.push(margin + (CLASS.exec(text)?.[0] ?? ''));
    else if (kind !== 'message') kept.push(margin + text);
  }
  return kept.join('\n');
}
