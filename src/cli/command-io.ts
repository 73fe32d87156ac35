/** What a command has of the process around it, so that it can be run without one. Types only. */
import type { StopSignal } from './exit-code.ts';

export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WritableStream;
  /** Logs and complaints go here; a terminal gets them in a form for people. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly signals: {
    on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
    off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  };
  readonly origin: {
    /** The process that this one was a child of when it began. */
    readonly starterId: number;
    /** The one that it is a child of now. */
    readonly parentId: () => number;
    /** npm, now, where the starter is a shell that npm runs a script in. */
    readonly npmId: () => number | undefined;
    /** Whether it was set apart from whoever started it. */
    readonly isSetApart: () => boolean;
  };
  /** Ends the process at once. */
  readonly exitNow: (exitCode: number) => void;
}

/** Runs with the arguments after the command's name and resolves with the exit code. */
export type RunCommand = (argv: readonly string[], io: CommandIo) => Promise<number>;
