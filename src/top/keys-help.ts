/** Formats the table of keys for the help of the command `top`. Pure. */

import { fit, widthOf } from './cells.ts';
import { KEYS } from './keys.ts';

export function keysHelp(): string {
  const width = Math.max(...KEYS.map(({ label }) => widthOf(label)));
  return `\nKeys:\n${KEYS.map(({ label, doc }) => `  ${fit(label, width)}  ${doc}`).join('\n')}\n`;
}
