/** Only our own clients are guarded: a program that embeds the bridge may have others, whose errors are its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guardReplies } from '../../../src/broker/redis/reply-guard.ts';

test('clients of others are left to ioredis', () => {
  const seen: unknown[] = [];
  class Handler {
    readonly redis = {};
    dispatch(act: () => void): void {
      try {
        act();
      } catch (error) {
        seen.push(error);
      }
    }
    returnFatalError(error: unknown): void {
      seen.push(error);
    }
  }
  guardReplies(Handler);
  const handler = new Handler();
  const errors = [new Error('of a listener'), new Error('of the parser')] as const;
  handler.dispatch(() => {
    throw errors[0];
  });
  handler.returnFatalError(errors[1]);
  assert.deepEqual(seen, errors);
});

test('other internals of ioredis are noticed when it is loaded', () => {
  assert.throws(() => guardReplies(class {}), /in an unknown way/u);
});
