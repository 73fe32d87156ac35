/** A real terminal of any size for a command: tmux, without a screen of its own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { until } from '../until.ts';

export interface Pane {
  /** What is on the screen. */
  screen(): string;
  /** With its escapes. */
  coloured(): string;
  /** Waits for it. @returns the screen */
  shows(pattern: RegExp): Promise<string>;
  /** By the names that tmux has for keys, or characters. */
  press(...keys: readonly string[]): void;
  resize(columns: number, rows: number): void;
  /** Whether the cursor can be seen, and whether the screen is a second one. */
  modes(): string;
  /** Of the command. */
  pid(): Promise<number>;
}

const SESSION = 't';
let panes = 0;

/**
 * Until the test ends.
 * @param argv of the command; a line says its exit code and how the terminal was left
 */
export function openPane(
  t: TestContext,
  argv: readonly string[],
  { columns = 100, rows = 20, env = {} }: { columns?: number; rows?: number; env?: NodeJS.ProcessEnv } = {},
): Pane {
  panes += 1;
  const socket = `celery-otel-${process.pid}-${panes}`;
  const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-tmux-'));
  const tmux = (...args: readonly string[]): string =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' });
  t.after(() => {
    tmux('kill-server');
    rmSync(folder, { recursive: true });
  });
  const pidFile = path.join(folder, 'pid');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = ['env', '-u', 'NO_COLOR', ...variables, ...argv].map(quoted).join(' ');
  const inside = `sh -c ${quoted(`echo $$ > ${pidFile}; exec ${command}`)}`;
  const after = `echo "ended $?:" $(stty -a | grep -oE ' -?(icanon|echo) ' | tr -d '\\n'); cat`;
  const size = ['-x', String(columns), '-y', String(rows)];
  tmux('new-session', '-d', ...size, '-s', SESSION, `${inside}; ${after}`);
  const screen = (): string => tmux('capture-pane', '-p', '-t', SESSION);
  return {
    screen,
    coloured: () => tmux('capture-pane', '-p', '-e', '-t', SESSION),
    shows: (pattern) => until(`${pattern}`, () => (pattern.test(screen()) ? screen() : undefined), screen),
    press: (...keys) => void tmux('send-keys', '-t', SESSION, ...keys),
    resize: (x, y) => void tmux('resize-window', '-t', SESSION, '-x', String(x), '-y', String(y)),
    modes: () => tmux('display-message', '-p', '-t', SESSION, '#{cursor_flag} #{alternate_on}').trim(),
    pid: () =>
      until('its process', () => {
        try {
          return Number(readFileSync(pidFile, 'utf8')) || undefined;
        } catch {
          return undefined;
        }
      }),
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
