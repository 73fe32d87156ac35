/** A fake process for commands under test: its output can be read and its signals can be sent. */
import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import type { CommandIo } from '../../src/cli/command-io.ts';
import { runCommandLine } from '../../src/cli/commands.ts';
import { STOP_SIGNALS, type StopSignal } from '../../src/cli/exit-code.ts';

export interface ProcessIo {
  readonly io: CommandIo;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly send: (signal: StopSignal) => void;
  /** Nobody has caught it. */
  readonly crash: (error: unknown) => void;
  /** Its parent exits, and another process becomes its parent. */
  readonly orphan: () => void;
  /** npm exits, and the shell in which it ran the script goes on. */
  readonly killNpm: () => void;
  /** How many listeners signals have. */
  readonly listeners: () => number;
  /** The codes of `exitNow`, in order. */
  readonly exits: readonly number[];
}

/** @param origin of a process that a shell started */
export function processIo(
  env: CommandIo['env'] = {},
  { starterId = 4711, setApart = false }: { starterId?: number; setApart?: boolean } = {},
): ProcessIo {
  const stdout = sink();
  const stderr = sink();
  const signals = new EventEmitter();
  const crashes = new EventEmitter();
  const exits: number[] = [];
  let parentId = starterId;
  let npmId = 4710;
  return {
    io: {
      env,
      stdout: stdout.stream,
      stderr: stderr.stream,
      signals,
      crashes,
      warnings: new EventEmitter(),
      origin: { starterId, parentId: () => parentId, npmId: () => npmId, isSetApart: () => setApart },
      exitNow: (code) => exits.push(code),
    },
    stdout: stdout.text,
    stderr: stderr.text,
    orphan: () => {
      parentId = starterId === 1 ? 2 : 1;
    },
    killNpm: () => {
      npmId = 1;
    },
    send: (signal) => signals.emit(signal, signal),
    crash: (error) => crashes.emit('uncaughtException', error),
    listeners: () => STOP_SIGNALS.reduce((sum, signal) => sum + signals.listenerCount(signal), 0),
    exits,
  };
}

/** Runs the command line, without a process of its own, to its end. */
export async function runInProcess(argv: readonly string[], env: CommandIo['env'] = {}) {
  const { io, stdout, stderr } = processIo(env);
  const code = await runCommandLine(argv, io);
  return { code, stdout: stdout(), stderr: stderr() };
}

function sink(): { stream: Writable; text: () => string } {
  const chunks: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}
