/** Texts of peers without the secrets that these were given. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPeerText, urlSecrets } from '../../src/text/peer-text.ts';
import { base64, FORMS } from '../secret-forms.ts';
import { fc } from '../seed.ts';

const hide = (secret: string, text: string): string => createPeerText([secret])(text);

test('a value of four characters or more is masked anywhere', () => {
  assert.equal(hide('s3cr', 'xs3cry, s3cr'), 'x***y, ***');
  assert.equal(hide('Bearer abcdefgh', 'Bearer abcdefgh, Bearer xabcdefghx'), '***, Bearer x***x');
});

test('a short value in another case may be part of another word', () => {
  assert.equal(hide('wrong', 'WRONGPASS: wrongpass, WRONG, wrong'), 'WRONGPASS: ***pass, ***, ***');
});

test('a shorter value is masked where it stands alone', () => {
  for (const [text, left] of [
    ['dev', '***'],
    ['the key dev is weak', 'the key *** is weak'],
    ['"dev", \'dev\', (dev), [dev], dev; dev.', '"***", \'***\', (***), [***], ***; ***.'],
    ['Dev and DEV', '*** and ***'],
    ['key=dev&more, key:dev', 'key=***&more, key:***'],
    ['dev\ndev dev', '*** *** ***'],
  ] as const)
    assert.equal(hide('dev', text), left);
});

test('words, paths, hosts and numbers with dots that only contain it stay readable', () => {
  for (const text of [
    'the device of a developer, dev_1, dev-1, pre-dev',
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
  const peerText = createPeerText([]);
  const thread = 'C0CC4B4FFA7F0000:error:0A000';
  assert.equal(
    peerText(`write EPROTO ${thread}10B:SSL routines:tls_validate:wrong version number:../a/b_c.c:77:\n`),
    'write EPROTO wrong version number',
  );
  assert.equal(
    peerText(
      `Error: ${thread}460:SSL routines:ssl3_read:tlsv1 alert no application protocol:../a.c:918:SSL alert number 120`,
    ),
    'Error: tlsv1 alert no application protocol',
  );
});

const SECRET = 'S3cr"t/ä %41😀+pw';
for (const [form, change] of Object.entries(FORMS)) {
  test(`a secret is masked ${form}`, () => {
    const hide = createPeerText([SECRET]);
    assert.equal(hide(`no: '${change(SECRET)}'`), "no: '***'");
    const inAscii = createPeerText(['hunter22-abcdefgh']);
    assert.equal(inAscii(`no: '${change('hunter22-abcdefgh')}'`), "no: '***'");
  });
}

test('what a secret has in common with other texts stays, and so does all else', () => {
  const text = 'HTTP 401: Bearer expected, %41 is A, base64 is dXNlcjpwYXNz, \\u0041';
  assert.equal(createPeerText(['Bearer abcdefghijkl', 'hunter22'])(text), text);
});

test('any secret of five characters is masked in base64, wherever it begins', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 5, maxLength: 40 }), fc.string(), (secret, user) => {
      if (/^\s|\s$/u.test(secret)) return;
      const shown = createPeerText([secret])(`x ${base64(`${user}:${secret}`)} y`);
      assert.equal(shown, 'x *** y');
    }),
  );
});

test('parts of a secret are masked: what Basic stands for, and a token within an address or a parameter', () => {
  const basic = `Basic ${base64('123456:glc_S3CRETtoken')}`;
  assert.equal(hide(basic, 'invalid token glc_S3CRETtoken'), 'invalid token ***');
  assert.equal(hide('https://S3CRETdsnToken@api.example?grpc=4317', 'no: S3CRETdsnToken'), 'no: ***');
  assert.equal(hide('Token token=abcdef0123456', 'no token abcdef0123456'), 'no token ***');
  assert.equal(createPeerText(urlSecrets('http://APIKEYlong123:@proxy'))('no APIKEYlong123'), 'no ***');
  assert.equal(createPeerText(urlSecrets('http://somebody:hunter22@proxy'))('no somebody'), 'no somebody');
});

test('a secret is masked in bytes, as Python shows them, and as HTTP reads them', () => {
  const password = 'pässwörd12';
  const bytes = [...Buffer.from(password)].map((byte) =>
    byte < 128 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`,
  );
  assert.equal(hide(password, `no ${bytes.join('')}`), 'no ***');
  assert.equal(hide(password, `no ${Buffer.from(password).toString('latin1')}`), 'no ***');
});

test('the secrets of a URL are its password and its query', () => {
  const hide = createPeerText(urlSecrets('https://user:p%40ssword@h/path?key=t0ken&x=%2Fabcd'));
  assert.equal(
    hide('p@ssword p%40ssword t0ken /abcd %2fabcd user h path'),
    '*** *** *** *** *** user h path',
  );
  assert.deepEqual(urlSecrets('no url').filter(Boolean), []);
});

test('a text is bounded, and of a giant one only the beginning is read', () => {
  const hide = createPeerText(Array.from({ length: 50 }, (_, index) => `secret-${index}-${'x'.repeat(500)}`));
  assert.equal(hide('%41\\u0041&amp;'.repeat(100_000)).length, 1000);
});

test('a text of beginnings of a secret in base64 is one run', () => {
  const secret = 'a-secret-of-some-length';
  assert.equal(hide(secret, base64(secret).slice(0, 12).repeat(100_000)), '***');
});
