/** The parts of the process that a command uses, so that tests can replace them. Types only. */
import type { StopSignal } from './exit-code.ts';
import type { Terminal } from './terminal.ts';

export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WritableStream;
  /** For logs and errors; human-readable on a terminal. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly signals: {
    on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
    off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  };
  /** Uncaught exceptions; without a listener, the first ends the process. */
  readonly crashes: {
    on(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
    off(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
  };
  /** Warnings of Node; by default it prints them itself. */
  readonly warnings: {
    on(event: 'warning', listener: (warning: Error) => void): unknown;
    removeAllListeners(event: 'warning'): unknown;
  };
  readonly origin: {
    /** The parent process at startup. */
    readonly starterId: number;
    /** The parent process now. */
    readonly parentId: () => number;
    /** The current npm process, if the starter is the shell of an npm script. */
    readonly npmId: () => number | undefined;
    /** Whether this process leads its own process group (`setsid`, `detached`). */
    readonly isSetApart: () => boolean;
  };
  /** Opens the terminal; undefined if there is none. */
  readonly terminal?: () => Terminal | undefined;
  /** Exits the process immediately. */
  readonly exitNow: (exitCode: number) => void;
}

/** Takes the arguments after the command's name and resolves with the exit code. */
export type RunCommand = (argv: readonly string[], io: CommandIo) => Promise<number>;
