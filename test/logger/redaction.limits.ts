/** That no text takes long to be searched for secrets, with words of the user too, and that the time grows with the text only. */
import { test } from 'node:test';
import { STACKTRACE_CHARS_MAX } from '../../src/logger/error-texts.ts';
import { redacted } from '../../src/logger/redaction.ts';
import { FURTHER_MAX } from '../../src/logger/telling-names.ts';
import { boundWorst } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { ORDINARY } from './ordinary-tracebacks.ts';
import { ALL, FRAMES, stackOf } from './stack-texts.ts';

/** What a message may take. Quadratic time would be seconds. */
const COST_MS_MAX = 50;
/** More than reach redaction: a stack trace is cut to a quarter of it before, here or at decoding. */
const CHARS = 64 * 1024;
const COST_OF_ALL_MS_MAX = 4 * COST_MS_MAX;
const WORDS = Array.from({ length: FURTHER_MAX }, (_, index) => `*customer_word-no_${index}*`);
/** Repeated, in texts that begin in several ways. */
const HOSTILE = [
  ...[
    'token',
    'tokena',
    'token=',
    'token = ',
    'token:',
    'passwd\n',
    'password: = = ',
    `secret${'.'.repeat(64)}`,
  ],
  ...[
    'password="',
    'password=\\"',
    "password='''",
    'password=`',
    '"password", ',
    'token"],',
    'password=%22a\n',
  ],
  ...[
    'password=(',
    'password=([ ',
    'password=(\n',
    'password=[\n"',
    'authorization: ',
    'authorization: "a"b',
  ],
  ...[
    'token: basic  ',
    'token: basic\t',
    'bearer ',
    '--token ',
    '-- ',
    ' --a-',
    '\\',
    '"',
    "'",
    ' ',
    '\t',
    '\n',
  ],
  ...[
    '://',
    '://:',
    'a://b:',
    'a://b:c@',
    '%3A%2F%2F',
    '%3A%2F%2Fa%3A',
    ',a:',
    'a;b',
    ',a://',
    ':\\/\\/',
    '%253A',
    ':\\u002f',
  ],
  ...[
    'eyJ',
    'eyJa.',
    'a:b',
    'a:b@',
    'a/b',
    'sk-',
    'sk-a',
    'SG.',
    'SG.a',
    'glc_',
    'a8Q~',
    'M',
    '1795311503:AA',
    '3a9f07c5',
    '$2b$',
  ],
  ...[
    'mysql ',
    'mysql -',
    'sshpass ',
    ' -u a',
    ' -u a:',
    '[SQL: ',
    '[SQL: token]\n[parameters: ',
    'INSERT INTO a (',
    'INSERT INTO a (token) VALUES (',
  ],
  ...[
    '- name: token\n',
    'password: |\n  a\n',
    'name="token"\n\n',
    '<token><![CDATA[',
    '?key=',
    'hooks.slack.com',
    'Private-Lines: 1\n',
    '\u200b',
  ],
  ...[
    'login("a", "',
    'login("',
    'AUTH PLAIN ',
    'AUTH PLAIN a',
    'basic ',
    'identified by ',
    'identified with a ',
    '/reset/',
    '/reset/a/',
    '/a-',
    'Key (token)=(',
    'Key (',
    'token\n  a [type=a, input_value=',
    'token\n  ',
    'token:\n"',
    "expected token '",
    'token is ',
    'token is not in ',
    'token for a: ',
    'token 1',
    'token 1a',
    `token 1${'a'.repeat(70)}`,
    `token ${'1'.repeat(22)}`,
    `token=${'1 '.repeat(22)}`,
    "auth=('a', ",
    'login -p',
    'TokenError: ',
    'token: celery@',
    'customer_word',
    'customer_word_no_',
    'customer-word-no-6',
  ],
  ...['password', 'pass', '=', '([{', ')]}', '(', ')', '{', '<>', '<token>', 'https://a:1/', 'a:1@'],
  ...['<token a="b"', '<token ', '<', '\u001b[1', '\u001b[1;m', '\\x1b['],
  ...['password=x&a.', `password=x&${'a'.repeat(70)}`, 'password=x,', `token=${'\\'.repeat(20)}`, '\0', '😀'],
];
const ORDINARY_PARTS = [FRAMES(1), ...ORDINARY.map(({ text }) => `${text}\n`)];
const BEGINNINGS = ['', 'password=(', 'password="', 'password=[\n', 'authorization:', 'a://'];

type Work = (text: string) => unknown;

/** Of each part that is repeated to so many characters, behind each beginning. */
function costs(parts: readonly string[], beginnings: readonly string[], chars: number, work: Work) {
  return beginnings.flatMap((beginning) =>
    parts.map((part) => {
      const text = beginning + part.repeat(Math.ceil(chars / part.length));
      return [JSON.stringify(text.slice(0, 40)), processorMs(() => work(text))] as const;
    }),
  );
}

const withWords: Work = (text) => redacted(text, { redact: [], redactNames: WORDS });

for (const [what, parts, beginnings] of [
  ['ordinary', ORDINARY_PARTS, ['']],
  ['hostile', HOSTILE, BEGINNINGS],
] as const) {
  test(`No ${what} text takes long`, (t) => {
    const all = costs(parts, beginnings, STACKTRACE_CHARS_MAX, (text) => redacted(text));
    boundWorst(t, `redaction of 16 kB of ${what} text`, all, COST_MS_MAX, 'ms');
  });
  test(`No ${what} text takes long with as many words of the user as there may be`, (t) => {
    const all = costs(parts, beginnings, STACKTRACE_CHARS_MAX, withWords);
    boundWorst(t, `redaction of 16 kB of ${what} text, with words of the user`, all, COST_MS_MAX, 'ms');
  });
  test(`Of four times as much ${what} text as is redacted, the time is four times as long at most`, (t) => {
    const all = costs(parts, beginnings, CHARS, (text) => redacted(text));
    boundWorst(t, `redaction of 64 kB of ${what} text`, all, COST_OF_ALL_MS_MAX, 'ms');
  });
  test(`A stack trace of 64 kB of ${what} text is cut before it is redacted`, (t) => {
    const all = costs(parts, beginnings, CHARS, (text) => stackOf(text, ALL));
    boundWorst(t, `a stack trace of 64 kB of ${what} text`, all, COST_MS_MAX, 'ms');
  });
}
