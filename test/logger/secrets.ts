/** Secrets as they occur in exceptions: in the forms of Python, JSON, headers, URLs and commands. */
import { fc } from '../seed.ts';

/** Of each generated secret, the part that may be nowhere. */
export const CORE = /Zq[0-9a-f]{10}qZ/;

const coreOf = (digits: string): string => `Zq${digits}qZ`;
const core = fc
  .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 10, maxLength: 10 })
  .map((digits) => coreOf(digits.join('')));
const around = (characters: string) =>
  fc.array(fc.constantFrom(...characters), { maxLength: 5 }).map((list) => list.join(''));
const secretOf = (characters: string) =>
  fc.tuple(around(characters), core, around(characters)).map((parts) => parts.join(''));

/** In quotes everything may occur. */
const anything = secretOf('ab1 \'"\\,;:&=()[]{}<>@/?#%\t\nüЖ😀*');
/** Without quotes it ends where people would end it. */
const word = secretOf('ab1-_.~+/%@*!$^');

const keys = fc.constantFrom(
  ...[
    'password',
    'passwd',
    'pwd',
    'secret',
    'token',
    'api_key',
    'api-key',
    'apikey',
    'APIKey',
    'authorization',
  ],
  ...['DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY', 'access_token', 'refreshToken', 'client_secret', 'X-Api-Key'],
  ...[
    'Set-Cookie',
    'session_id',
    'X-Auth-Token',
    'Proxy-Authorization',
    'passwordConfirm',
    'PGPASSWORD',
    'private_key',
    'tokens.first',
    'smtp_pass',
    'AccountKey',
    'X-Amz-Signature',
  ],
);

/** As Python's `repr`. */
function pythonRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll(quote, `\\${quote}`);
  return quote + inner + quote;
}

const repeated = (text: string, times: number, by: (text: string) => string): string =>
  times === 0 ? text : repeated(by(text), times - 1, by);

const inQuotes = fc
  .tuple(keys, anything)
  .chain(([key, secret]) =>
    fc.constantFrom(
      `{'user': 'bob', '${key}': ${pythonRepr(secret)}, 'order': 17}`,
      `login(user='bob', ${key.replaceAll(/\W/g, '_')}=${pythonRepr(secret)})`,
      `{b'${key}': b${pythonRepr(secret)}}`,
      `headers=[('Host', 'shop'), ('${key}', ${pythonRepr(secret)})]`,
      `headers=[(b'${key}', b${pythonRepr(secret)})]`,
      `    ${key.replaceAll(/\W/g, '_')}: str = ${pythonRepr(secret)}`,
      `    os.environ["${key}"] = ${pythonRepr(secret)}`,
      `{"${key}": ${JSON.stringify(secret)}, "order": 17}`,
      JSON.stringify({ [key]: secret }, undefined, 2),
      JSON.stringify({ a: 1, [key]: [secret, { b: secret }], order: 17 }, undefined, 2),
      `{'${key}': [${pythonRepr(secret)}, ${pythonRepr(secret)}]}`,
      `${key}=SecretStr(${pythonRepr(secret)})`,
      `Command '['mysql', '--${key}', ${pythonRepr(secret)}]' returned 1`,
      `${key} ${pythonRepr(secret)} is wrong`,
      ...[1, 2, 3].map((times) =>
        repeated(`{"${key}":${JSON.stringify(secret)},"n":1}`, times, JSON.stringify),
      ),
      ...[1, 2].map((times) => repeated(`{'${key}': ${pythonRepr(secret)}, 'n': 1}`, times, pythonRepr)),
    ),
  );

const bare = fc
  .tuple(keys, word)
  .chain(([key, secret]) =>
    fc.constantFrom(
      `${key}=${secret}`,
      `${key}: ${secret}`,
      `${key} = ${secret}`,
      `ValueError('${key}=${secret}')`,
      `("${key}=${secret}", 17)`,
      `PORT=1;${key}=${secret};DATABASE=shop`,
      `https://shop/pay?order=17&${key}=${encodeURIComponent(secret)}&page=2`,
      `https%3A%2F%2Fshop%2F%3F${key}%3D${encodeURIComponent(secret)}%26page%3D2`,
      `Authorization: Bearer ${secret}`,
      `authorization: Basic ${secret}`,
      `curl -H 'Authorization: Digest username="bob", response="${secret}"' https://shop`,
      `${key}: Bearer ${secret}`,
      `the bearer ${secret} has expired`,
      `Command 'mysql --${key} ${secret} -u bob' returned 1`,
      `<${key}>${secret}</${key}>`,
      `<shop:${key} xsi:type="text">${secret}</shop:${key}>`,
      `\u001b[36m${key}\u001b[0m=\u001b[35m${secret}\u001b[0m`,
      `${key.padEnd(40)}: ${secret}`,
    ),
  );

const schemes = fc.constantFrom('redis', 'amqp', 'postgresql+psycopg2', 'https', 'rediss', 'sentinel');
const urls = fc.tuple(schemes, word, fc.constantFrom('', 'bob', 'b%40b')).chain(([scheme, secret, user]) =>
  fc.constantFrom(
    `${scheme}://${user}:${encodeURIComponent(secret)}@shop:6379/0`,
    // With HTTP, digits and a slash behind a name are a port.
    `${scheme}://${user}:${scheme === 'https' ? 'a' : ''}${secret}@shop:6379/0`,
    `Error 111 connecting to '${scheme}://${user}:${scheme === 'https' ? 'a' : ''}${secret}@shop'.`,
    `["${scheme}://${user}:${secret}@shop", 17]`,
    `${scheme}:\\/\\/${user}:${encodeURIComponent(secret)}@shop`,
    `${scheme}://${encodeURIComponent(secret)}@shop/17`,
    `${scheme}://a:b@one;${scheme}://${user}:${secret}@two,${scheme}://c:d@three`,
    encodeURIComponent(`${scheme}://${user}:${encodeURIComponent(secret)}@shop:6379/0`),
    // As Python's `quote` does.
    encodeURIComponent(`${scheme}://${user}:${encodeURIComponent(secret)}@shop:6379/0`).replaceAll(
      '%2F',
      '/',
    ),
    encodeURIComponent(encodeURIComponent(`${scheme}://${user}:${encodeURIComponent(secret)}@shop:6379/0`)),
  ),
);

const labels = fc.constantFrom('', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ');
const pem = fc.tuple(labels, secretOf('aZ09+/=\n')).chain(([label, secret]) => {
  const begin = `-----BEGIN ${label}PRIVATE KEY-----\n`;
  const end = `\n-----END ${label}PRIVATE KEY-----\n`;
  const key = `${begin}Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,17AF\n\nMII+/\n${secret}${end}`;
  return fc.constantFrom(key, `cannot load: ${pythonRepr(key)}, 17`, JSON.stringify({ key }));
});

/** A text with one secret. */
export const planted = fc.oneof(inQuotes, bare, urls, pem);
