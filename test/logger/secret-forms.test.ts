/** Each known form of a secret is hidden in what surrounds it, and texts that only look similar stay. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redacted } from '../../src/logger/redaction.ts';
import { PLACES, TOKENS } from '../../src/logger/secret-forms.ts';
import { hex, some, upper } from './invented.ts';
import { WRITTEN } from './written-forms.ts';

/** Tokens, by what they are for. The whole text is the secret. */
const WHOLE: Readonly<Record<string, readonly string[]>> = {
  'AWS access keys': [`AKIA${some(16, 'Q7ZK2MXA5TWB6RCD')}`, `ASIA${some(16, 'Q7ZK2MXA5TWB6RCD')}`],
  GitHub: [`ghp_${some(36)}`, `gho_${some(36)}`, `github_pat_${some(22)}_${some(59)}`],
  GitLab: [`glpat-${some(20)}`, `gldt-${some(20)}`],
  Slack: [`xoxb-17-17-${some(24)}`, `xoxe.xoxp-1-${some(40)}`, `xapp-1-A0-17-${some(32)}`],
  'OpenAI, Anthropic and others with `sk-`': [
    `sk-${some(48)}`,
    `sk-proj-${some(40)}`,
    `sk-ant-api03-${some(90)}`,
  ],
  Stripe: [`sk_live_${some(24)}`, `rk_test_${some(24)}`, `whsec_${some(32)}`],
  Google: [`AIza${some(35)}`, `ya29.${some(60)}`, `GOCSPX-${some(28)}`, `1//0${some(40)}`],
  SendGrid: [`SG.${some(22)}.${some(43)}`],
  npm: [`npm_${some(36)}`],
  PyPI: [`pypi-${some(120)}`],
  'Hugging Face': [`hf_${some(34)}`],
  HashiCorp: [`hvs.${some(24)}`, `${some(14)}.atlasv1.${some(67)}`],
  age: [`AGE-SECRET-KEY-1${upper(58)}`],
  DigitalOcean: [`dop_v1_${hex(64)}`],
  Shopify: [`shpat_${hex(32)}`],
  Square: [`sq0atp-${some(22)}`],
  'Mailgun and Mailchimp': [`key-${hex(32)}`, `${hex(32)}-us17`],
  Twilio: [`SK${hex(32)}`],
  'New Relic': [`NRAK-${upper(27)}`],
  Grafana: [`glsa_${some(32)}_${hex(8)}`, `glc_${some(60)}`],
  Telegram: [`1795311503:AA${some(33)}`, `bot1795311503:AA${some(33)}`],
  Discord: [`M${some(23)}.${some(6)}.${some(27)}`],
  Sentry: [`sntrys_${some(64)}`],
  Atlassian: [`ATATT3${some(60)}=${hex(8)}`],
  Docker: [`dckr_pat_${some(27)}`],
  RubyGems: [`rubygems_${hex(48)}`],
  Databricks: [`dapi${hex(32)}`],
  Doppler: [`dp.pt.${some(43)}`],
  Linear: [`lin_api_${some(40)}`],
  Notion: [`ntn_${some(46)}`],
  Postman: [`PMAK-${hex(24)}-${hex(34)}`],
  Airtable: [`pat${some(14)}.${hex(64)}`],
  Figma: [`figd_${some(40)}`],
  Dropbox: [`sl.${some(120)}`],
  'Replicate, Groq and Supabase': [`r8_${some(37)}`, `gsk_${some(52)}`, `sbp_${hex(40)}`],
  PlanetScale: [`pscale_tkn_${some(43)}`],
  'Azure client secrets': [`${some(3)}8Q~${some(34)}`],
  'JWTs, and JSON in Base64': [
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIi${some(30)}.${some(43)}`,
    ...[{ user: 'bob', password: some(12) }].flatMap((one) => [
      Buffer.from(JSON.stringify(one)).toString('base64'),
      Buffer.from(JSON.stringify(one, undefined, 2)).toString('base64'),
      Buffer.from(JSON.stringify([one])).toString('base64'),
    ]),
  ],
  'PEM in Base64': [Buffer.from(`-----BEGIN PRIVATE KEY-----\n${some(64)}\n`).toString('base64')],
};

const SECRET = `Zq${hex(10)}qZ`;
const HASH = `${some(22)}${SECRET}`;

/** Texts with `SECRET`, by what shows that it is one. */
const IN_PLACE: Readonly<Record<string, readonly string[]>> = {
  'hashes of passwords, as in `/etc/shadow`, of Django, Werkzeug, LDAP and PostgreSQL': [
    `$2b$12$${HASH}`,
    `$argon2id$v=19$m=65536,t=3,p=4$${HASH}`,
    `root:$6$${HASH}:19000`,
    `pbkdf2_sha256$600000$salt$${HASH}`,
    `scrypt:32768:8:1$salt$${HASH}`,
    `{SSHA}${HASH}`,
    `SCRAM-SHA-256$4096:${HASH}`,
  ],
  'addresses of webhooks': [
    `POST https://hooks.slack.com/services/T0/B0/${SECRET} failed`,
    `https://discord.com/api/webhooks/17/${SECRET}`,
    `https://shop.webhook.office.com/webhookb2/${SECRET}`,
    `https://api.telegram.org/bot${SECRET}/sendMessage`,
  ],
  'keys, codes and signatures in queries of URLs': [
    `/api?order=17&key=${SECRET}`,
    `https://shop/cb?code=${SECRET}&page=2`,
    `?Signature=${SECRET}&Expires=17`,
    `?a=1&amp;auth=${SECRET}`,
  ],
  '`user:password@host` without a scheme': [
    `cannot reach guest:${SECRET}@rabbit:5672`,
    `dial (bob:${SECRET}@db.shop)`,
  ],
  'logins of Oracle, `user/password@host`': [
    `sqlplus scott/${SECRET}@db:1521/orcl`,
    `jdbc:oracle:thin:scott/${SECRET}@//db.shop:1521/orcl`,
  ],
  'PuTTY keys': [`Private-Lines: 2\n${some(64)}\n${SECRET}\nPrivate-MAC: ${hex(40)}`],
  'the MAC of a PuTTY key': [`Private-MAC: ${hex(40)}`],
  'passwords on command lines: `-u user:password`': [
    `curl -u bob:${SECRET} https://shop`,
    `['curl', '-u', 'bob:${SECRET}']`,
  ],
  'logins in calls, `login("user", "password")`': [
    `server.login('bob', '${SECRET}')`,
    `simple_bind_s(('cn=sync,dc=shop', 'a\\'${SECRET}'), {})`,
    `client.auth_password("bob", "${SECRET}")`,
    `requests.get(url, auth=('bob', '${SECRET}'))`,
    `{'auth': ('bob', '${SECRET}')}`,
    `HTTPBasicAuth('bob', '${SECRET}')`,
  ],
  'credentials of HTTP and SMTP, `Basic …` and `AUTH PLAIN …`': [
    `{'auth': 'Basic Ym9i${SECRET}=='}`,
    `send: 'AUTH PLAIN AG1h${SECRET}=\\r\\n'`,
    `AUTHENTICATE LOGIN ${SECRET}`,
  ],
  'logins of registries, `_auth=…` of npm and `"auth": "…"` of Docker': [
    `//npm.shop/:_auth=Ym9i${SECRET}=`,
    `{"registry.shop": {"auth": "Ym9i${SECRET}=="}}`,
  ],
  'passwords in SQL, `IDENTIFIED BY`': [
    `CREATE USER 'bob'@'%' IDENTIFIED BY '${SECRET} x'`,
    `ALTER USER bob IDENTIFIED WITH mysql_native_password AS "${SECRET}"`,
    `create user bob identified by ${SECRET};`,
  ],
  'codes in addresses that reset, confirm or invite': [
    `https://shop/accounts/reset/MQ/${SECRET}-x17/`,
    `/password_reset/${SECRET}-x17?next=/`,
    `https://shop/invitations/${SECRET}-x17`,
  ],
  '`-ppassword` of MySQL and MariaDB': [
    `mysql -u root -p${SECRET} shop`,
    `mysqldump --opt -p${SECRET}`,
    `mysql -u root -p'a ${SECRET}' shop`,
  ],
  '`sshpass -p`, `redis-cli -a`, and the `-p` of logins': [
    `sshpass -p ${SECRET} ssh shop`,
    `sshpass -p 'a ${SECRET}' ssh shop`,
    `redis-cli -h shop -a ${SECRET} ping`,
    `docker login -u bob -p ${SECRET} registry.shop`,
    `['mongodump', '--host', 'db', '-p', '${SECRET}']`,
  ],
};

/** Values after a name, beyond those of one line. */
const NAMED: readonly string[] = [
  ...[
    'pin',
    'otp',
    'dsn',
    'salt',
    'cvv',
    'iban',
    'ssn',
    'card_number',
    'connect.sid',
    'PHPSESSID',
    'signing_key',
  ].map((name) => `${name}=${SECRET}`),
  `password: |\n  ${SECRET}\n  ${SECRET}\nname: shop`,
  `- name: DB_PASSWORD\n  value: ${SECRET}`,
  `"name": "password",\n    "value": "${SECRET}"`,
  `<password><![CDATA[${SECRET}]]></password>`,
  `Content-Disposition: form-data; name="password"\r\n\r\n${SECRET}\r\n--x`,
  `'form-data; name="password"\\r\\n\\r\\n${SECRET}\\r\\n--x'`,
  `token -> ${SECRET}`,
  `pass\u200bword=${SECRET}`,
  `password: |\n  a\n\n  ${SECRET}\n`,
  `{"name": "DB_PASSWORD", "type": "plain", "value": "${SECRET}"}`,
  `<input name="password" type="text" value="${SECRET}">`,
  `INSERT INTO users (name, password) VALUES ('bob', '${SECRET}')`,
  `insert ignore into users (name, password) values\n('bob', 'x'),\n('eve', '${SECRET}')`,
  `[SQL: INSERT INTO users (name, password) VALUES (%s, %s)]\n[parameters: ('bob', '${SECRET}')]`,
];

for (const [kind, forms, texts] of [
  ['tokens', TOKENS, WHOLE],
  ['places', PLACES, IN_PLACE],
] as const)
  describe(kind, () => {
    test('each form of the table has examples', () => {
      assert.deepEqual(
        forms.map(({ what }) => what),
        Object.keys(texts),
      );
    });
    for (const { what, source } of forms)
      test(what, () => {
        for (const text of texts[what] ?? []) {
          assert.match(text, new RegExp(source, kind === 'tokens' ? 'u' : 'iu'));
          const secret = kind === 'tokens' ? text : text.includes(SECRET) ? SECRET : hex(40);
          for (const [before, after] of [
            ['', ''],
            ['failed with ', ' at order 17'],
            ["ValueError('", "')"],
            ['{"a": "', '"}'],
            ['x=', '\n  File "a.py", line 1'],
          ]) {
            const shown = redacted(`${before}${text}${after}`);
            assert.ok(!shown.includes(secret.slice(4)), shown);
            assert.ok(shown.startsWith(before ?? ''), shown);
          }
        }
      });
  });

for (const text of NAMED)
  test(`${JSON.stringify(text)} is hidden`, () =>
    assert.ok(!redacted(text).includes(SECRET), redacted(text)));

for (const [text, secret] of WRITTEN)
  test(`in ${JSON.stringify(text.slice(0, 60))}… the secret is hidden`, () => {
    const shown = redacted(text.replace('§', () => secret));
    assert.ok(text.includes('§') && !shown.includes(secret), shown);
    assert.ok(shown.startsWith(text.slice(0, 15)), shown);
  });

for (const text of [
  'sk-learn-contrib-something-long is not installed',
  'the task-runner-with-a-long-name-17 stopped',
  'mailto:bob@shop.example',
  '/app/tests/test_token.py:88: AssertionError, src/secret.py:12 in load, test_token.py::test_refresh',
  "KeyError: 'token'\n\nDuring handling of the above exception, another exception occurred:",
  'git@github.com:shop/orders.git',
  'image nginx:1.25@sha256:0a1b',
  'File "/srv/shop/tasks.py", line 17, in pay',
  'worker celery@shop.example:17 is gone',
  'spinning=1, desalted=2, options={3}',
  'sorted(items, key=lambda each: each.id)',
  '[SQL: SELECT name FROM users WHERE id = %s]\n[parameters: (17,)]',
  'mysql -u root -p shop',
  'docker login failed -processing the next one',
  'salt-minion: not running',
  'this record was identified as duplicate',
  "{'prompt_tokens': 812, 'total_tokens': 1024}",
  'Settings(token=None, password=None, use_secret: true)',
  'https://shop/errors?code=404&page=2',
  'task 3f2504e0-4f89-11d3-9a0c-0305e82c3301 of e3b0c44298fc1c149afbf4c8996fb924',
  'kombu.exceptions.OperationalError: [Errno 111] Connection refused',
])
  test(`${JSON.stringify(text)} stays`, () => assert.equal(redacted(text), text));
