/** A key of replies says which process of which host it is of. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { controlNames } from '../../../src/broker/control/request.ts';
import {
  abandonedKey,
  closeKey,
  isOpen,
  openKey,
  replyKeyOf,
  sharedBy,
} from '../../../src/broker/redis/reply-keys.ts';

const SESSION = { host: 'pod', owner: 'shop', pid: 4711, number: 1 };

test('each host, owner, process and session has a key of its own, in the form of a UUID', () => {
  const others = [{ host: 'pod2' }, { owner: 'billing' }, { pid: 4712 }, { number: 2 }];
  const keys = [SESSION, ...others.map((other) => ({ ...SESSION, ...other }))].map(replyKeyOf);
  assert.equal(new Set(keys).size, 5);
  for (const key of [...keys, replyKeyOf({ ...SESSION, pid: 2 ** 22, number: 1e9 })])
    assert.equal(controlNames('celery', key).replyKey, key);
});

test('only a member of the same owner and host is abandoned, if its process or session has ended', () => {
  const shared = sharedBy('pod', 'shop');
  const key = replyKeyOf(SESSION);
  const member = `${key}::${key}.reply.celery.pidbox`;
  const asked: unknown[] = [];
  const verdict = (text: string, open: boolean) =>
    abandonedKey(text, shared, (...one) => {
      asked.push(one);
      return open;
    });
  assert.equal(verdict(member, false), key);
  assert.equal(verdict(member, true), undefined);
  assert.deepEqual(asked, [
    [4711, key],
    [4711, key],
  ]);
  const foreign = ['', shared, `${shared}x`, `x${member}`, replyKeyOf({ ...SESSION, owner: 'billing' })];
  for (const text of [...foreign, '0b5cd9c4-6a36-3d0f-a9d8-2f3f5c6b8f0a'])
    assert.equal(verdict(text, false), undefined, text);
});

test('a session is open until it is closed, and one of another process as long as that lives', () => {
  const [first, second] = [openKey('pod', 'shop'), openKey('pod', 'shop')];
  closeKey(first);
  assert.equal(isOpen(process.pid, first), false);
  assert.equal(isOpen(process.pid, second), true);
  closeKey(second);
  assert.equal(isOpen(process.ppid, 'a key'), true);
  assert.equal(isOpen(1, 'a key'), true);
  assert.equal(isOpen(spawnSync('true').pid, 'a key'), false);
  assert.equal(isOpen(0xffffffff, 'a key'), false);
});
