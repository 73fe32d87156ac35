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
  /** Where to listen for uncaught exceptions; without a listener, the first one ends the process. */
  readonly crashes: {
    on(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
    off(event: 'uncaughtException', listener: (error: unknown) => void): unknown;
  };
  /** Where to listen for warnings of Node, which by default prints them itself. */
  readonly warnings: {
    on(event: 'warning', listener: (warning: Error) => void): unknown;
    removeAllListeners(event: 'warning'): unknown;
  };
  readonly origin: {
    /** The id of the parent process at startup. */
    readonly starterId: number;
    /** Returns the id of the parent process now. */
    readonly parentId: () => number;
    /** Returns the id of the npm process, if the starter is the shell of an npm script. */
    readonly npmId: () => number | undefined;
    /** Whether this process leads its own process group (`setsid`, `detached`). */
    readonly isSetApart: () => boolean;
  };
  /** Opens the terminal; undefined if there is none. */
  readonly terminal?: () => Terminal | undefined;
  /** Exits the process immediately. */
  readonly exitNow: (exitCode: number) => void;
}

/** Receives the arguments after the name of the command, and resolves with the exit code. */
export type RunCommand = (argv: readonly string[], io: CommandIo) => Promise<number>;
