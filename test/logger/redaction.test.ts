/** No form of a secret is left, and what is none stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redacted } from '../../src/logger/redaction.ts';
import { fc } from '../seed.ts';
import { CORE, planted } from './secrets.ts';

for (const [text, shown] of [
  ['redis://:pass@host:6379/0', 'redis://***@host:6379/0'],
  ['redis://user:pa/ss@host', 'redis://***@host'],
  ['https://key@sentry.io/1', 'https://***@sentry.io/1'],
  // As Python's `quote` writes it.
  ['redis%3A//u%3Ap%40h/0', 'redis%3A//***%40h/0'],
  ['"redis:\\u002f\\u002fu:p@h"', '"redis:\\u002f\\u002f***@h"'],
  ['http://shop:80/?token=a@b&order=17', 'http://shop:80/?token=***&order=17'],
  ['https://shop:8443/users/a@b.c', 'https://shop:8443/users/a@b.c'],
  // A password may have a slash in it.
  ['redis://localhost:8080/?q=a@b.c', 'redis://***@b.c'],
  ['https://user:pa/ss@b.c', 'https://***@b.c'],
  // Cut where it was decoded.
  ['cannot reach redis://user:pas', 'cannot reach redis://***'],
  ['redis%3A%2F%2Fu%3Apas', 'redis%3A%2F%2F***'],
  ["{'password': 'x y', 'user': 'bob'}", "{'password': ***, 'user': 'bob'}"],
  ["{'password': 'x", "{'password': ***"],
  [`"{\\"password\\": \\"a\\\\\\"b\\", \\"n\\": 1}"`, `"{\\"password\\": ***, \\"n\\": 1}"`],
  ["password='''a\nb''' order", 'password=*** order'],
  ["'password': 'abc '\n            'def', 'n': 2", "'password': ***, 'n': 2"],
  ['"tokens": [\n  "a",\n  "b"\n], "n": 1', '"tokens": ***, "n": 1'],
  ['    token = fetch(\n        "a",\n  File "x.py", line 1', '    token = ***,\n  File "x.py", line 1'],
  ['token: Bearer  abc is old', 'token: *** is old'],
  ['<a:token id="1">a b</a:token>', '<a:token ***</a:token>'],
  ['<Token pk=17>, order 18', '<Token pk=17>, order 18'],
  ['\u001b[36mpassword\u001b[0m=\u001b[35mabc\u001b[0m order', 'password=*** order'],
  ["'\\x1b[1;36mpassword\\x1b[0m: abc'", "'password: ***'"],
  [`password${' '.repeat(40)}= abc`, `password${' '.repeat(40)}= ***`],
  [`password:${' '.repeat(40)}abc`, `password:${' '.repeat(40)}***`],
  ['Authorization: 4539578763621486 abc def', 'Authorization: ***'],
  ['Cookie: sessionid=abc; csrf=def\nHost: shop', 'Cookie: ***\nHost: shop'],
  ["{'Set-Cookie': 'a=b; Path=/', 'n': 1}", "{'Set-Cookie': ***, 'n': 1}"],
  ['session_key=abc&order=17', 'session_key=***&order=17'],
  ['password\u00A0=\u00A0abc', 'password\u00A0=\u00A0***'],
  ['next=%2Fshop%3Fpassword%253Dabc', 'next=%2Fshop%3Fpassword%253D***'],
  ['"?password\\u003dabc\\u0026order=17"', '"?password\\u003d***"'],
  ['?password&#61;abc and', '?password&#61;*** and'],
  ['password\u2009=\u3000abc', 'password\u2009=\u3000***'],
  ['&quot;password&quot;: &quot;a b&quot;, n', '&quot;password&quot;: ***, n'],
  ['&#x27;token&#x27;: &#x27;a b&#x27;}', '&#x27;token&#x27;: ***}'],
  ['"{\\u0022password\\u0022:\\u0022a b\\u0022}"', '"{\\u0022password\\u0022:***}"'],
  ['%2522token%2522%253A%2522a b%2522%252C', '%2522token%2522%253A***%252C'],
  ['{"name": "password", "value": "a b", "n": 1}', '{"name": "password", "value": ***, "n": 1}'],
  ["{'key': 'api_key', 'value': 'a b'}", "{'key': 'api_key', 'value': ***}"],
  ["Cookie(name='csrftoken', value='a b', port=None)", "Cookie(name='csrftoken', value=***, port=None)"],
  ['<input name="password" value="a b">', '<input name="password" value=***>'],
  ['Invalid API key: abc', 'Invalid API key: ***'],
  ['session id=abc&order=17', 'session id=***&order=17'],
  ['passwordtoken=abc', 'passwordtoken=***'],
  [`token${'a'.repeat(50)}token${'b'.repeat(50)}=abc`, `token${'a'.repeat(50)}token${'b'.repeat(50)}=***`],
  ['smtp_pass=abc, PASS: def', 'smtp_pass=***, PASS: ***'],
  ['https://blob/x?se=2026&sig=a%2Bb%3D&sp=r', 'https://blob/x?se=2026&sig=***&sp=r'],
  [
    'bad:\n-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128-CBC,17\n\nMII+/=\nabc=\n-----END RSA PRIVATE KEY-----\nat 17',
    'bad:\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nat 17',
  ],
  // As `pprint` writes it.
  [
    "('-----BEGIN PRIVATE KEY-----\\n'\n 'MII\\n'\n 'abc=\\n'\n '-----END PRIVATE KEY-----\\n')",
    "('-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----\\n')",
  ],
  ["'-----BEGIN PRIVATE KEY-----\\nMII\\nabc', 17", "'-----BEGIN PRIVATE KEY-----***', 17"],
  ['left out ...]\nMII\nabc=\n-----END PRIVATE KEY-----', 'left out ...]***-----END PRIVATE KEY-----'],
  ["{'password':\n    'a b',\n 'n': 1}", "{'password':\n    ***,\n 'n': 1}"],
  ['DBPASS=abc, userpass: def', 'DBPASS=***, userpass: ***'],
  ['passcode=abc, pass_key: def, Passwort: ghi', 'passcode=***, pass_key: ***, Passwort: ***'],
  ['pg_pw=abc, creds: def', 'pg_pw=***, creds: ***'],
  ['Key (password, email)=(a, b@c) already exists.', 'Key (password, email)=*** already exists.'],
  [
    'a.password\n  Too short [type=too_short, input_value="a b", input_type=str]',
    'a.password\n  Too short [type=too_short, input_value=***, input_type=str]',
  ],
  ["password is 'a b', order 17", 'password is ***, order 17'],
  ["WHERE token LIKE 'a' AND secret IN ('b', 'c')", 'WHERE token LIKE *** AND secret IN ***'],
  ["assert password != 'a b'", 'assert password != ***'],
  ['Your verification code is 4821, bob', 'Your verification code is ***, bob'],
  ['Password for bob: abc17', 'Password for bob: ***'],
  ['webhook secret a17b3cd9 mismatched', 'webhook secret *** mismatched'],
  ['card_no: 4539-5787-6362-1486, order 17', 'card_no: ***, order 17'],
  ['card number 4539 5787 6362 1486 was declined', 'card number *** was declined'],
  [
    'License key: a, activation-code=b, PINCODE: c, jwt=d',
    'License key: ***, activation-code=***, PINCODE: ***, jwt=***',
  ],
  ["InvalidTokenError: 'abc', PasswordError: x17", 'InvalidTokenError: ***, PasswordError: ***'],
  ["expected token 'a17', password: celery@w1", 'expected token ***, password: ***'],
  // What is no secret.
  ['InvalidTokenError: Signature has expired', 'InvalidTokenError: Signature has expired'],
  ['{"grant": "refresh_token", "client_id": "a"}', '{"grant": "refresh_token", "client_id": "a"}'],
  ["('password', 'a'): 17", "('password', ***): 17"],
  [
    'password is required, token is None, tokens in use',
    'password is required, token is None, tokens in use',
  ],
  ['if password1 != password2 or tokens 17 of 20', 'if password1 != password2 or tokens 17 of 20'],
  [
    'shop.token.refresh 3f2504e0-4f89-11d3-9a0c-0305e82c3301 was lost',
    'shop.token.refresh 3f2504e0-4f89-11d3-9a0c-0305e82c3301 was lost',
  ],
  ['no token for orders: not found', 'no token for orders: not found'],
  ["Unexpected token '<', expected token 'x'", "Unexpected token '<', expected token 'x'"],
  ['proj.token: celery@w1 has left', 'proj.token: celery@w1 has left'],
  ['Key (email)=(b@c) already exists.', 'Key (email)=(b@c) already exists.'],
  ['bypass=1, compass: 2, lowpass=3', 'bypass=1, compass: 2, lowpass=3'],
  [
    'tests passed: 3, bypass=1, signal: 9, signature=shop.add(2)',
    'tests passed: 3, bypass=1, signal: 9, signature=shop.add(2)',
  ],
  [
    '-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----',
    '-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----',
  ],
  ['http://localhost/?q=a@b.c', 'http://localhost/?q=a@b.c'],
  ['at http://localhost:8080', 'at http://localhost:8080'],
  ['mail a@b.c: not found', 'mail a@b.c: not found'],
  ['<password>a</password> is wrong', '<password>***</password> is wrong'],
  ['if password != expected:', 'if password != expected:'],
  ['the password was refused', 'the password was refused'],
  ['"password", valued', '"password", valued'],
  ['the api key is missing', 'the api key is missing'],
  ['tokenize(text), line 17', 'tokenize(text), line 17'],
  ['', ''],
] as const) {
  test(`${JSON.stringify(text)} is shown as ${JSON.stringify(shown)}`, () => {
    assert.equal(redacted(text), shown);
  });
}

const filler = fc.constantFrom(
  '',
  ' ',
  '\n',
  'order 17 failed: ',
  '\n  File "a.py", line 1, in f\n    ',
  ' (',
  '\n> ',
);

test('A secret in any form is left nowhere, whatever is around it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(filler, planted), { minLength: 1, maxLength: 4 }), filler, (parts, end) => {
      const text = parts.map(([before, secret]) => `${before}${secret} `).join('\n') + end;
      assert.match(text, CORE);
      assert.doesNotMatch(redacted(text), CORE);
    }),
    { numRuns: 3000 },
  );
});

test('A text that ends within a secret does not show its beginning', () => {
  fc.assert(
    fc.property(planted, fc.nat({ max: 9 }), (text, length) => {
      // A user without a password may be a host as well; and no password in a URL has a slash or an `@`.
      fc.pre(
        !/(?::\/\/|:\\\/|%(?:25)?3A(?:%(?:25)?2F|\/){2})(?:(?:(?!:|%(?:25)?3A).)*|\S*?:\S*[/@?#]\S*)Zq/i.test(
          text,
        ),
      );
      const at = text.search(CORE);
      assert.doesNotMatch(redacted(text.slice(0, at + 4 + length)), /Zq/);
    }),
    { numRuns: 1000 },
  );
});

const withPatterns = (redact: readonly RegExp[]) => ({ redact, redactNames: [] });

test("The user's patterns are replaced as well, in each line", () => {
  const patterns = [/card-\d+/, /x*/g, /^order/y];
  assert.equal(redacted('card-17, card-18\norder card-19', withPatterns(patterns)), '***, ***\n*** ***');
  assert.equal(redacted('no', withPatterns([/x*/])), 'no');
});

test("The user's patterns see the beginning of a line, and nothing else of it is shown", () => {
  const shown = redacted(`${'a'.repeat(2000)}card-17\ncard-18`, withPatterns([/card-\d+/]));
  assert.equal(shown, `${'a'.repeat(768)}…\n***`);
});

test('What a pattern would match beyond a cut is not shown up to there: of a line, above a gap, at the end', () => {
  const pattern = /card-\d{16}/;
  for (let shownDigits = 0; shownDigits < 16; shownDigits += 1) {
    const torn = `${' '.repeat(300)}card-${'4'.repeat(shownDigits)}`;
    for (const text of [torn, `x\n${torn}`])
      assert.doesNotMatch(redacted(text, withPatterns([pattern]), true), /card/);
    assert.doesNotMatch(redacted(`${torn}\n[... 9 bytes left out ...]\nx`, withPatterns([pattern])), /card/);
    assert.doesNotMatch(redacted(`${torn.padStart(1024)}${'4'.repeat(16)}`, withPatterns([pattern])), /card/);
  }
});

const LICENCE = { redact: [], redactNames: ['licence', '*_handle', 'kunden-schlüssel', 'acct*'] };

for (const [text, shown] of [
  ["{'licence': 'x y', 'user': 'bob'}", "{'licence': ***, 'user': 'bob'}"],
  ['SHOP_LICENCE=abc&order=17', 'SHOP_LICENCE=***&order=17'],
  ['X-Licence-No: abc and', 'X-Licence-No: *** and'],
  ['activate --licence abc', 'activate --licence ***'],
  ['<licence>a b</licence>', '<licence>***</licence>'],
  ['{"name": "licence", "value": "a b"}', '{"name": "licence", "value": ***}'],
  ['licence%3Dabc%26order', 'licence%3D***'],
  ["userHandle='a', user_handle='a', USER-HANDLE: a", "userHandle='a', user_handle=***, USER-HANDLE: ***"],
  [
    "{'Kunden_Schlüssel': 'a b', 'kundenschlüssel': 'c'}",
    "{'Kunden_Schlüssel': ***, 'kundenschlüssel': ***}",
  ],
  ["acctids=['a', 'b'], n=1", 'acctids=***, n=1'],
  ["INSERT INTO a (b, licence) VALUES ('x', 'y')", 'INSERT INTO a (b, licence) VALUES ***'],
  // What is no such name.
  ['licences=17, sublicence=18, handle=19', 'licences=17, sublicence=18, handle=19'],
  ['the licence is missing', 'the licence is missing'],
] as const)
  test(`With words of the user, ${JSON.stringify(text)} is shown as ${JSON.stringify(shown)}`, () => {
    assert.equal(redacted(text, LICENCE), shown);
    assert.match(redacted(`password=Zq\n${text}`, LICENCE), /^password=\*\*\*\n/);
  });
