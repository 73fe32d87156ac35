/** Lines of recordings, also ones that take as long to parse as is allowed. */
import assert from 'node:assert/strict';
import type { RawMessage } from '../../../src/broker/broker.ts';
import { encodeMessage } from '../../../src/broker/recording/format.ts';
import { LINE_LIMITS } from '../../../src/broker/recording/line-limits.ts';

export const MESSAGE: RawMessage = {
  arrivedAtMs: 1_795_231_147_917,
  exchange: 'celeryev',
  routingKey: 'task.multi',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@shop' },
  body: Buffer.from('[{"type":"task-started"}]'),
};

export function lineOf(message: RawMessage): string {
  const encoded = encodeMessage(message);
  assert.ok(encoded.ok, encoded.ok ? '' : encoded.reason);
  return encoded.line;
}

/** The line of a message with that JSON as the value of a header. */
export const extended = (by: string): Buffer => Buffer.from(lineOf(MESSAGE).replace('"w1@shop"', () => by));

export const emoji = (bytes: number): Buffer => extended(`"${'😀'.repeat(bytes / 4)}"`);

/** Between two numbers, and its last digit decides: to parse it takes a hundred times as long as most. */
function halfwayNumber(digits: number): string {
  const between = `${(2n ** 53n + 1n) * 5n ** 1074n}`;
  return `${between.padEnd(digits - 1, '0')}1e-${1074 + digits - between.length}`;
}

/** The costliest lines that are not too long, by what they consist of. */
export function costliestLines(): Readonly<Record<string, Buffer>> {
  const { line, line_unicode: unicode } = LINE_LIMITS;
  const room = line.max - 400;
  const listOf = (item: string) => extended(`[${`${item},`.repeat(room / (item.length + 1))}0]`);
  return {
    objects: listOf('{}'),
    levels: extended('['.repeat(room)),
    numbers: listOf(halfwayNumber(770)),
    emoji: emoji(room),
    fewerEmoji: emoji(unicode.max - 400),
  };
}
