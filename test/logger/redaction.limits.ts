/** That no text takes long to be searched for secrets. */
import { test } from 'node:test';
import { redacted } from '../../src/logger/redaction.ts';
import { boundWorst } from '../bound.ts';
import { processorMs } from '../processor-time.ts';

/** Quadratic time would be seconds. */
const COST_MS_MAX = 100;
const CHARS = 16 * 1024;
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
  ...['<token a="b"', '<token ', '<', '\u001b[1', '\u001b[1;m', '\\x1b['],
  ...['password=x&a.', `password=x&${'a'.repeat(70)}`, 'password=x,', `token=${'\\'.repeat(20)}`, '\0', '😀'],
];
const BEGINNINGS = ['', 'password=(', 'password="', 'password=[\n', 'authorization:', 'a://'];

test('No text takes long', (t) => {
  const costs = BEGINNINGS.flatMap((beginning) =>
    HOSTILE.map((part) => {
      const text = beginning + part.repeat(Math.ceil(CHARS / part.length));
      return [JSON.stringify(text.slice(0, 40)), processorMs(() => redacted(text))] as const;
    }),
  );
  boundWorst(t, 'redaction of 16 kB', costs, COST_MS_MAX, 'ms');
});
