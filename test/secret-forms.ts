/** What a peer may make of a secret that it repeats. */

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const unicode = (text: string): string =>
  text.replaceAll(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const percent = (text: string): string => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const FORMS: Readonly<Record<string, (secret: string) => string>> = {
  verbatim: (secret) => secret,
  'in upper case': (secret) => secret.toUpperCase(),
  'percent-encoded': encodeURIComponent,
  'percent-encoded twice': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'percent-encoded as a whole': percent,
  'in a form': (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  'in JSON': json,
  'in JSON within JSON': (secret) => json(json(secret)),
  'in JSON of ASCII': unicode,
  'in HTML': (secret) => secret.replaceAll(/./gu, (each) => `&#${each.codePointAt(0)};`),
  'in hexadecimal': (secret) => Buffer.from(secret).toString('hex'),
  'in base64': base64,
  'in base64 for URLs': (secret) => Buffer.from(secret).toString('base64url'),
  'in base64 in another case': (secret) => base64(secret).toLowerCase(),
  'in base64 with a user': (secret) => base64(`u:${secret}`),
  'in base64 with a longer user': (secret) => base64(`us:${secret}`),
  'in base64 of a SASL response': (secret) => base64(`\0usr\0${secret}`),
  'shortened, as Redis does': (secret) => secret.slice(0, 17),
};
