/**
 * The table of secrets that their form gives away, whatever stands before them: tokens with a known prefix or shape, addresses that are
 * secrets, logins, and values in a known place of a command or statement. Each expression takes linear time, because every repetition is
 * bounded and begins at a fixed text. It replaces nothing. Pure.
 */
import type { Part } from './pem-keys.ts';

interface Form {
  /** What it finds, for the documentation. */
  readonly what: string;
  /** The source of a regular expression. */
  readonly source: string;
}

/** The whole match is the secret. No letter or digit precedes it. */
export const TOKENS: readonly Form[] = [
  { what: 'AWS access keys', source: '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}' },
  { what: 'GitHub', source: String.raw`(?:gh[pousr]_[A-Za-z\d]{20,255}|github_pat_\w{20,255})` },
  { what: 'GitLab', source: String.raw`gl(?:pat|dt|rt|ptt|ft|soat|cbt|agent|imt|oas|ffct)-[\w-]{16,255}` },
  { what: 'Slack', source: String.raw`(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{10,255}` },
  {
    what: 'OpenAI, Anthropic and others with `sk-`',
    source: String.raw`sk-(?=[\w-]{0,64}\d)[\w-]{16,255}`,
  },
  { what: 'Stripe', source: String.raw`(?:[rsp]k_(?:live|test)_[A-Za-z\d]{8,255}|whsec_[\w+/=-]{16,255})` },
  {
    what: 'Google',
    source: String.raw`(?:AIza[\w-]{30,60}|ya29\.[\w-]{16,2048}|GOCSPX-[\w-]{16,64}|1//0[\w-]{20,255})`,
  },
  { what: 'SendGrid', source: String.raw`SG\.[\w-]{10,64}\.[\w-]{10,128}` },
  { what: 'npm', source: String.raw`npm_[A-Za-z\d]{30,64}` },
  { what: 'PyPI', source: String.raw`pypi-[\w-]{16,1024}` },
  { what: 'Hugging Face', source: String.raw`hf_[A-Za-z\d]{20,64}` },
  {
    what: 'HashiCorp',
    source: String.raw`(?:hv[sbr]\.[\w-]{20,512}|[A-Za-z\d]{14}\.atlasv1\.[\w-]{40,128})`,
  },
  { what: 'age', source: String.raw`AGE-SECRET-KEY-1[A-Z\d]{20,128}` },
  { what: 'DigitalOcean', source: String.raw`do[opr]_v1_[a-f\d]{32,128}` },
  { what: 'Shopify', source: String.raw`shp(?:at|ca|pa|ss|ua)_[A-Fa-f\d]{32}` },
  { what: 'Square', source: String.raw`sq0(?:atp|csp|idp)-[\w-]{20,64}` },
  { what: 'Mailgun and Mailchimp', source: String.raw`(?:key-[a-f\d]{32}|[a-f\d]{32}-us\d{1,2})` },
  { what: 'Twilio', source: String.raw`SK[a-f\d]{32}` },
  { what: 'New Relic', source: String.raw`NRAK-[A-Z\d]{20,40}` },
  { what: 'Grafana', source: String.raw`(?:glsa_[A-Za-z\d]{20,64}_[a-f\d]{8}|glc_[\w+/=]{32,512})` },
  { what: 'Telegram', source: String.raw`(?:bot)?\d{8,10}:AA[\w-]{30,40}` },
  { what: 'Discord', source: String.raw`[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,64}` },
  { what: 'Sentry', source: String.raw`sntr[yu]s_[\w+/=-]{32,512}` },
  { what: 'Atlassian', source: String.raw`ATATT3[\w=-]{40,512}` },
  { what: 'Docker', source: String.raw`dckr_(?:pat|oat)_[\w-]{16,128}` },
  { what: 'RubyGems', source: String.raw`rubygems_[a-f\d]{40,64}` },
  { what: 'Databricks', source: String.raw`dapi[a-f\d]{32}(?:-\d)?` },
  { what: 'Doppler', source: String.raw`dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{32,128}` },
  { what: 'Linear', source: String.raw`lin_(?:api|oauth)_[A-Za-z\d]{32,64}` },
  { what: 'Notion', source: String.raw`ntn_[A-Za-z\d]{32,64}` },
  { what: 'Postman', source: String.raw`PMAK-[a-f\d]{24}-[a-f\d]{34}` },
  { what: 'Airtable', source: String.raw`pat[A-Za-z\d]{14}\.[a-f\d]{64}` },
  { what: 'Figma', source: String.raw`fig[dou]_[\w-]{32,64}` },
  { what: 'Dropbox', source: String.raw`sl\.[\w-]{60,2048}` },
  { what: 'Replicate, Groq and Supabase', source: String.raw`(?:r8_|gsk_|sb[ps]_)[A-Za-z\d]{32,64}` },
  { what: 'PlanetScale', source: String.raw`pscale_(?:tkn|pw|oauth)_[\w.-]{20,128}` },
  { what: 'Azure client secrets', source: String.raw`[\w~.-]{3}\dQ~[\w~.-]{31,34}` },
  {
    what: 'JWTs, and JSON in Base64',
    source: String.raw`(?:eyJ|eyAi|ewo[gJ]|W3si)[\w+/-]{16,4096}={0,2}(?:\.[\w-]{0,4096}){0,4}`,
  },
  { what: 'PEM in Base64', source: String.raw`LS0tLS1CRUdJTi[\w+/=-]{16,16384}` },
];

/** The secret is the first group, which ends the match. */
export const PLACES: readonly Form[] = [
  {
    what: 'hashes of passwords, as in `/etc/shadow`, of Django, Werkzeug, LDAP and PostgreSQL',
    source: String.raw`(\$(?:2[abxy]?|argon2(?:id?|d)|[1567y]|apr1|gy|scrypt|pbkdf2[\w-]{0,16}|sha1)\$[\w./+,=$-]{8,512}|(?<![\w-])(?:pbkdf2|scrypt|argon2|bcrypt)[\w:]{0,48}\$[\w./+,=$-]{8,512}|\{S?(?:SHA|MD5|CRYPT)\d{0,3}\}[\w+/=$.]{16,256}|SCRAM-SHA-256\$\d{1,9}:[\w+/=$:]{16,256})`,
  },
  {
    what: 'addresses of webhooks',
    source: String.raw`(?:hooks\.slack(?:-gov)?\.com|discord(?:app)?\.com\/api\/webhooks|webhook\.office\.com|outlook\.office(?:365)?\.com\/webhook|api\.telegram\.org\/(?:file\/)?bot|hooks\.zapier\.com|maker\.ifttt\.com|open\.(?:feishu|larksuite)\.cn\/open-apis\/bot|qyapi\.weixin\.qq\.com\/cgi-bin\/webhook|events\.pagerduty\.com\/integration)(\/?[^\s"'<>\\]{1,512})`,
  },
  {
    what: 'keys, codes and signatures in queries of URLs',
    source: String.raw`[?&](?:amp;)?(?:key|code|auth|sign|signature|hmac|hash|ticket|assertion)=(?!\d{3}(?![\w%-]))([^\s&"'<>\\]{1,2048})`,
  },
  {
    what: '`user:password@host` without a scheme',
    source: String.raw`(?<![\w.+@:/%-])(?!(?:mailto|sips?|xmpp|acct|file):)[\w.+-]{1,64}:(?!\d{1,2}@)([^\s:@/"'\x60<>(){}[\],;|]{1,128})(?=@(?!sha\d)[\w-])`,
  },
  {
    what: 'logins of Oracle, `user/password@host`',
    source: String.raw`(?<![\w/.@-])[\w$#]{1,30}\/([^\s/@"'\x60]{1,128})(?=@(?:\/\/)?[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}(?::\d|\/\w))`,
  },
  { what: 'PuTTY keys', source: String.raw`Private-Lines: \d{1,4}\r?\n([\w+/=\r\n]{1,8192})` },
  { what: 'the MAC of a PuTTY key', source: String.raw`Private-MAC: ([a-f\d]{8,128})` },
  {
    what: 'passwords on command lines: `-u user:password`',
    source: String.raw`[\s"'](?:-u|--user|--proxy-user)["',]{0,3}[\s=]{0,4}["']?[^\s"':=]{1,128}:([^\s"']{1,256})`,
  },
  {
    what: 'logins in calls, `login("user", "password")`',
    source: String.raw`\b(?:log_?[io]n|sign_?in|(?:simple_)?bind(?:_s)?|authenticate|auth_password|\w{0,16}auth)(?:["']?[=:]?[ ])?=?\({1,2}[bu]?["'][^"'\n]{1,256}["'],\s{0,4}[bu]?["']((?:\\.|[^"'\\\n]){1,256})`,
  },
  {
    what: 'credentials of HTTP and SMTP, `Basic …` and `AUTH PLAIN …`',
    source: String.raw`(?:\bbasic|\bauth(?:enticate)?\s(?:plain|login|xoauth2|oauthbearer))\s{1,4}((?=[a-z+/]{0,64}[\d=])[a-z\d+/]{12,2048}={0,2})`,
  },
  {
    what: 'logins of registries, `_auth=…` of npm and `"auth": "…"` of Docker',
    source: String.raw`(?:(?<![\w-])_auth[ \t]?=[ \t]?|["']auth["'][ \t]?:[ \t]?["'])((?=[a-z+/]{0,64}[\d=])[a-z\d+/]{12,2048}={0,2})`,
  },
  {
    what: 'passwords in SQL, `IDENTIFIED BY`',
    source: String.raw`\bidentified\s{1,8}(?:by|with\s{1,8}[\w"'\x60]{1,64}\s{1,8}(?:by|as))\s{1,8}(?:password\s{1,8})?((?:"[^"\n]{1,256}"?|'[^'\n]{1,256}'?|[^\s"';]{1,256}))`,
  },
  {
    what: 'codes in addresses that reset, confirm or invite',
    source: String.raw`\/(?:[\w-]{0,32}?[-_])?(?:reset|activat(?:e|ion)|confirm(?:ation)?|verify|verification|invit(?:e|ation)s?|magic|unsubscribe)[\w-]{0,32}\/(?:[\w=-]{1,64}\/){0,3}?((?=[a-z_-]{0,256}\d)[\w.~=-]{16,256})`,
  },
  {
    what: '`-ppassword` of MySQL and MariaDB',
    source: String.raw`\b(?:mysql|mariadb)[\w-]{0,16}\b[^\n]{0,256}?[\s"']-p("[^"\n]{1,256}"?|'[^'\n]{1,256}'?|[^\s"']{1,256})`,
  },
  {
    what: '`sshpass -p`, `redis-cli -a`, and the `-p` of logins',
    source: String.raw`\b(?:sshpass\b[^\n]{0,64}?[\s"']-p|redis-cli\b[^\n]{0,256}?[\s"']-a|\b(?:login|mongo(?:sh|dump|restore|export)?)\b[^\n]{0,256}?[\s"']-p(?=[\s"',]))(?:\s{1,4}(?=["'])|["',\s]{0,4})((?<=\s)"[^"\n]{1,256}"|(?<=\s)'[^'\n]{1,256}'|[^\s"',]{1,256})`,
  },
];

const ALL_TOKENS = new RegExp(`(?<![A-Za-z\\d])(?:${TOKENS.map(({ source }) => source).join('|')})`, 'g');
const ALL_PLACES = PLACES.map(({ source }) => new RegExp(source, 'gi'));

export function knownForms(text: string): readonly Part[] {
  const parts = Array.from(text.matchAll(ALL_TOKENS), ({ index, 0: { length } }) => ({
    from: index,
    to: index + length,
  }));
  for (const pattern of ALL_PLACES)
    for (const { index, 0: all, 1: secret = '' } of text.matchAll(pattern)) {
      const to = index + all.length;
      parts.push({ from: to - secret.length, to });
    }
  return parts;
}
