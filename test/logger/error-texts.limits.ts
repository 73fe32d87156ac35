/** What it costs to decide what is shown of a stack trace. */
import { test } from 'node:test';
import { STACKTRACE_CHARS_MAX } from '../../src/logger/error-texts.ts';
import { boundWorst } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { ALL, FRAMES, NO_MESSAGE, stackOf } from './stack-texts.ts';

const COST_MS_MAX = 100;
const PARTS = [
  'Traceback (most recent call last):\n',
  'During handling of the above exception, another exception occurred:\n\n',
  '  | ',
  '  +-',
  '  File "',
  FRAMES(1),
  'x\n\n',
  '[... 1 bytes left out ...]\n',
  '\n',
  '\0',
];

for (const [what, settings] of [
  ['with messages', ALL],
  ['without messages', NO_MESSAGE],
] as const) {
  test(`No stack trace takes long, ${what}`, (t) => {
    const costs = PARTS.map((part) => {
      const text = part.repeat(Math.ceil(STACKTRACE_CHARS_MAX / part.length));
      const ms = processorMs(() => stackOf(text, settings));
      return [`of ${JSON.stringify(part.slice(0, 20))}`, ms] as const;
    });
    boundWorst(t, `a stack trace ${what}`, costs, COST_MS_MAX, 'ms');
  });
}
