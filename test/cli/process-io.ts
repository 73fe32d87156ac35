/** A process around a command, for tests: everything that is written to it can be read, and signals are called. */
import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import type { CommandIo } from '../../src/cli/command-io.ts';
import type { StopSignal } from '../../src/cli/exit-code.ts';

export interface ProcessIo {
  readonly io: CommandIo;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly send: (signal: StopSignal) => void;
  /** How many listeners signals have. */
  readonly listeners: () => number;
  /** The codes of `exitNow`, in order. */
  readonly exits: readonly number[];
}

export function processIo(env: CommandIo['env'] = {}): ProcessIo {
  const stdout = sink();
  const stderr = sink();
  const signals = new EventEmitter();
  const exits: number[] = [];
  return {
    io: { env, stdout: stdout.stream, stderr: stderr.stream, signals, exitNow: (code) => exits.push(code) },
    stdout: stdout.text,
    stderr: stderr.text,
    send: (signal) => signals.emit(signal, signal),
    listeners: () => signals.listenerCount('SIGTERM') + signals.listenerCount('SIGINT'),
    exits,
  };
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
