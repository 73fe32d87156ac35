/**
 * Reads Python's formatted tracebacks line by line: the frames of the last exception, and the text without exception messages.
 * What stands between frames (source, `^^^^`) has no meaning here. Each line is looked at once. Pure.
 */
import { isGap } from './bounded-text.ts';

const HEADER = /^(?: {2}\+ Exception Group )?Traceback \(most recent call last\):$/;
/** Faster than the expression, which most lines do not match. */
const FRAME_BEGINS = '  File "';
const FRAME = /^ {2}File "([^"]{1,1024})", line \d{1,9}, in (.{1,256})$/;
const BETWEEN = new Set([
  'During handling of the above exception, another exception occurred:',
  'The above exception was the direct cause of the following exception:',
]);
/** Of the lines of an exception group, and, deeper, of its members. */
const MARGIN = /^ {2,64}\|(?: |$)/;
/** Longer ones are of members. */
const GROUP_MARGIN_CHARS = 4;
/** Around the members of a group. */
const RULE = /^ {2,64}\+-[+-]*(?: (?:\d{1,9}|\.\.\.) -+)?$/;
/** The class at the beginning of the line that names an exception. */
const CLASS = /^[\p{XIDS}_][\p{XIDC}.<>]{0,255}/u;
/** Directories that differ from host to host. */
const INSTALLED = /^.*[/\\](?:(?:site|dist)-packages|lib[/\\]python\d[\d.]{0,7})[/\\]/;

export interface Frame {
  /** Without the directory in which packages are installed. */
  readonly file: string;
  readonly function: string;
}

interface Line {
  readonly kind: 'header' | 'frame' | 'source' | 'name' | 'message' | 'between' | 'rule' | 'gap';
  readonly margin: string;
  /** Without the margin. */
  readonly text: string;
}

/** What may follow: the header of an exception, its frames up to its name, or its message. */
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

/** The kind of a line above the message of an exception. */
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

/** The innermost frames of the exception that was raised last; of a group those of itself, not of its members. */
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

/** The traceback with exception classes, but without their messages. */
export function withoutMessages(stacktrace: string): string {
  const kept: string[] = [];
  for (const { kind, margin, text } of linesOf(stacktrace)) {
    if (kind === 'between') kept.push(margin);
    if (kind === 'name') kept.push(margin + (CLASS.exec(text)?.[0] ?? ''));
    else if (kind !== 'message') kept.push(margin + text);
  }
  return kept.join('\n');
}
