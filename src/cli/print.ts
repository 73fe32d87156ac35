/** The only output of commands apart from the log: untrusted text can neither control the terminal nor forge lines. */
import { printableLines } from '../printable.ts';

/** @param text line breaks stay, so untrusted parts must already be free of them */
export function print(stream: NodeJS.WritableStream, text: string): void {
  stream.write(printableLines(text));
}
