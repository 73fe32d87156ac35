/**
 * The formats of lists of names, such as queue names, and of options that decide how kombu builds Redis keys from queue
 * names. It builds no keys.
 */
import { type Format, format, itemsOf, line, wholeNumber } from './formats.ts';

const NAME = line(255);
/** kombu accepts any number as a priority, brokers only a byte. */
const PRIORITY = wholeNumber(0, 255);
const SEPARATOR_BYTES_MAX = 64;

/** @param what the listed things, for messages, such as `names of queues` */
export function nameList(what: string): Format<readonly string[]> {
  return format(
    `${what} separated by commas, each at most 255 bytes`,
    (text) => {
      const names = itemsOf(text).filter((name) => name !== '');
      const areNames = names.length > 0 && names.every((name) => NAME.read(name).ok);
      return areNames ? { ok: true, value: [...new Set(names)] } : undefined;
    },
    { list: { separator: ',', items: NAME.schema } },
  );
}

export const queueNames = nameList('names of queues');

export const queuePatterns = nameList('names of queues, with * and ?,');

/** Ascending, as kombu searches them by bisection (transport/redis.py, `priority`). */
export const prioritySteps: Format<readonly number[]> = format(
  'whole numbers from 0 to 255, ascending, separated by commas',
  (text) => {
    const items = itemsOf(text);
    const steps = items.map(Number);
    const areSteps = items.length > 0 && items.every((item) => PRIORITY.read(item).ok);
    const isAscending = steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? step));
    return areSteps && isAscending ? { ok: true, value: steps } : undefined;
  },
  { list: { separator: ',', items: PRIORITY.schema } },
);

/** Any text, in which `\x06` stands for a character, since kombu's separator consists of control characters. */
export const separator: Format<string> = format(
  `auto, or text of at most ${SEPARATOR_BYTES_MAX} bytes`,
  (text) => {
    const value = text.replaceAll(/\\x([\da-f]{2})/giu, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    return Buffer.byteLength(value) <= SEPARATOR_BYTES_MAX ? { ok: true, value } : undefined;
  },
);
