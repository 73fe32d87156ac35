/** A backend's message after the values of headers are masked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReasonText } from '../../../src/otlp/send/export-reason.ts';
import { fc } from '../../seed.ts';

const hide = (secret: string, text: string): string => createReasonText([secret])(text);

test('a value of four characters or more is masked anywhere', () => {
  assert.equal(hide('s3cr', 'xs3cry, s3cr'), 'x***y, ***');
  assert.equal(hide('Bearer abcdefgh', 'Bearer abcdefgh, Bearer xabcdefghx'), '***, Bearer x***x');
});

test('a shorter value is masked where it stands alone', () => {
  for (const [text, left] of [
    ['dev', '***'],
    ['the key dev is weak', 'the key *** is weak'],
    ['"dev", \'dev\', (dev), [dev], dev; dev.', '"***", \'***\', (***), [***], ***; ***.'],
    ['key=dev&more, key:dev', 'key=***&more, key:***'],
    ['dev\ndev dev', '*** *** ***'],
  ] as const)
    assert.equal(hide('dev', text), left);
});

test('words, paths, hosts and numbers with dots that only contain it stay readable', () => {
  for (const text of [
    'the device of a developer, dev_1, dev-1, pre-dev',
    'Dev and DEV',
    '/dev/null',
    'no address for dev.example.com or a.dev',
  ])
    assert.equal(hide('dev', text), text);
  assert.equal(hide('1a', 'connect ECONNREFUSED 10.1a.1:4317'), 'connect ECONNREFUSED 10.1a.1:4317');
});

test('a single character or a short number is no secret, and statuses and times stay readable', () => {
  for (const secret of ['a', '1', '42', '503', '!!']) {
    const text = `HTTP 503: retry in 42 s, 1 of 3 ${secret}`;
    assert.equal(hide(secret, text), text);
  }
});

test('a short token after its scheme is masked, and the scheme is not', () => {
  assert.equal(hide('Bearer abc12', 'no Bearer like abc12'), 'no Bearer like ***');
  assert.equal(hide('Bearer 1234', 'token 1234, at 12:34'), 'token ***, at 12:34');
  // Words of a sentence are words of other sentences, too.
  assert.equal(hide('the shop in town', 'an error in the shop'), 'an error in the shop');
});

test('regular-expression characters are taken literally', () => {
  for (const secret of ['a.c', 'a*', '(a', 'a]', '$a', '^a', 'a|', 'a\\', '{a', 'a?', 'a+', '-a', 'a/'])
    assert.equal(hide(secret, `is ${secret} or abc`), 'is *** or abc');
});

test('a value of two characters or more with a letter never stands alone in a text', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
  });
  fc.assert(
    fc.property(
      printable.filter((value) => value.length >= 2 && /[a-z]/iu.test(value)),
      (secret) => {
        assert.ok(!hide(secret, `the key ${secret} is weak`).split(' ').includes(secret));
      },
    ),
  );
});

test('of an OpenSSL error only its message remains', () => {
  const reasonText = createReasonText([]);
  const thread = 'C0CC4B4FFA7F0000:error:0A000';
  assert.equal(
    reasonText(`write EPROTO ${thread}10B:SSL routines:tls_validate:wrong version number:../a/b_c.c:77:\n`),
    'write EPROTO wrong version number',
  );
  assert.equal(
    reasonText(
      `Error: ${thread}460:SSL routines:ssl3_read:tlsv1 alert no application protocol:../a.c:918:SSL alert number 120`,
    ),
    'Error: tlsv1 alert no application protocol',
  );
});
