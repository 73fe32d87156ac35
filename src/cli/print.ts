/** The only way from a command to a terminal, beside its log: what came from outside can neither steer nor forge anything. */
import { printableLines } from '../printable.ts';

/** @param text whatever in it is from outside has no line breaks any more; those that there are stay */
export function print(stream: NodeJS.WritableStream, text: string): void {
  stream.write(printableLines(text));
}
