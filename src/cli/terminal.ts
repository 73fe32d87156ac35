/**
 * The terminal while a view fills it: its size, keys and screen, which it restores however the process ends. It does
 * not know what is shown.
 */
import { emitKeypressEvents } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Pressed } from '../top/keys.ts';
import type { Size } from '../top/window.ts';

export interface Terminal {
  size(): Size;
  /** Whether it can show colours, and NO_COLOR is not set. */
  readonly isColoured: boolean;
  /** Takes over the screen. @returns a function that restores it, which may be called repeatedly */
  open(listeners: TerminalListeners): () => void;
  /** Draws one line per row. Lines may contain escape sequences of colours only. */
  draw(lines: readonly string[]): void;
}

export interface TerminalListeners {
  readonly onKey: (pressed: Pressed) => void;
  readonly onResize: () => void;
}

/** Enters the alternate screen, without cursor and without line wrapping; CLOSE leaves it. */
const OPEN = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
const CLOSE = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
/** Begin and end of synchronized output: a terminal that supports it shows everything between them at once. */
const [BEGIN, END] = ['\u001b[?2026h\u001b[H', '\u001b[?2026l'];
/** Sent before the text of a line: after a text of full width, it would erase the last character. */
const CLEAR_LINE = '\u001b[0m\u001b[2K';
const SIZE = { columns: 80, rows: 24 };

/** @returns undefined if the output is not a terminal, or has no cursor control */
export function openTerminal(
  stdin: ReadStream,
  stdout: WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): Terminal | undefined {
  if (!stdout.isTTY || env['TERM'] === 'dumb') return undefined;
  let last = '';
  return {
    size: () => ({ columns: stdout.columns || SIZE.columns, rows: stdout.rows || SIZE.rows }),
    // NO_COLOR counts unless it is empty (no-color.org).
    isColoured: (env['NO_COLOR'] ?? '') === '' && stdout.hasColors(),
    open({ onKey, onResize }) {
      const resized = (): void => {
        last = '';
        onResize();
      };
      stdout.on('resize', resized);
      stdout.write(OPEN);
      const stopReading = readKeys(stdin, onKey);
      const close = (): void => {
        process.off('exit', close);
        stdout.off('resize', resized);
        stopReading();
        stdout.write(CLOSE);
      };
      // Restores the screen even if the process exits without `close`.
      process.once('exit', close);
      let isOpen = true;
      return () => {
        if (isOpen) close();
        isOpen = false;
      };
    },
    draw(lines) {
      const frame = lines.map((line) => CLEAR_LINE + line).join('\r\n');
      // A slow terminal misses frames.
      if (frame === last || stdout.writableNeedDrain) return;
      last = frame;
      stdout.write(BEGIN + frame + END);
    },
  };
}

/** Reads keys one by one, including Ctrl-C. @returns a function that stops it */
function readKeys(stdin: ReadStream, onKey: (pressed: Pressed) => void): () => void {
  if (!stdin.isTTY) return () => {};
  const pressed = (text: string | undefined, key: Key): void => onKey(pressedOf(text, key));
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.on('keypress', pressed);
  stdin.resume();
  return () => {
    stdin.off('keypress', pressed);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly shift?: boolean;
}

function pressedOf(text: string | undefined, { name, ctrl, meta, shift }: Key): Pressed {
  const writes = ctrl !== true && meta !== true ? (text ?? '') : '';
  const prefix = ctrl === true ? 'C-' : shift === true ? 'S-' : '';
  return { key: name === undefined ? writes : prefix + name, text: writes };
}
