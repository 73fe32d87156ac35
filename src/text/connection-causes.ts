/**
 * The table of failed connections that brokers and backends have in common, each with its likely cause and what to do, for readers
 * who know neither their protocol nor OpenSSL. It decides nothing. Pure.
 */

/** What is known of a connection, besides the text of its failure. */
export interface Connection {
  /** Whether a connection to this address was open before: then the settings are correct. */
  readonly hasWorked: boolean;
  readonly isTls: boolean;
  readonly hasClientCertificate: boolean;
  readonly isLocal: boolean;
}

/** The names of the other side and of its settings. */
export interface CauseWords {
  /** Such as `the broker`. */
  readonly peer: string;
  /** The setting that has the address. */
  readonly address: string;
  readonly certificate: string;
  readonly key: string;
  /** What to do if the other side does not speak TLS. */
  readonly noTls: string;
  /** … if its certificate is not trusted. */
  readonly trust: string;
  /** … if its certificate is for another host name. */
  readonly otherName: string;
}

export interface Cause<Situation = Connection> {
  /** @param said the text of the failure, with its code */
  readonly matches: (said: string, situation: Situation) => boolean;
  /** The likely cause; like the remedy, with placeholders in braces: `{at}` is the address. */
  readonly cause: string;
  readonly remedy: string;
}

/** OpenSSL’s errors for a server that does not speak TLS: certificates are not the cause. */
export const NO_TLS =
  /wrong version number|packet length too long|unknown protocol|http request|bad record type/u;
const UNTRUSTED = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed|UNABLE_TO_|SELF_SIGNED/u;
const CERTIFICATE_ALERT = /alert (?:.*certificate|unknown ca|access denied|decrypt error)/u;
const HANDSHAKE_ALERT = /alert handshake failure/u;

/** Whether the text of the failure matches. */
export const says =
  (pattern: RegExp) =>
  (said: string): boolean =>
    pattern.test(said);

/** The causes in order: the first that matches is reported. */
export function commonCauses(words: CauseWords): readonly Cause[] {
  return [...networkCauses(words), ...tlsCauses(words)];
}

function networkCauses({ peer, address }: CauseWords): readonly Cause[] {
  return [
    {
      matches: says(/\bE[MN]FILE\b/u),
      cause: 'this process has reached its limit of open files and connections',
      remedy: 'raise its limit (ulimit -n, LimitNOFILE)',
    },
    {
      matches: (said, { hasWorked }) => hasWorked && /ECONNREFUSED/u.test(said),
      cause: 'nothing is listening on {at} any more',
      remedy: `start ${peer}`,
    },
    {
      matches: (said, { isLocal }) => isLocal && /ECONNREFUSED/u.test(said),
      cause: 'nothing is listening on {at} here',
      remedy: `start ${peer}, or correct ${address}; in a container, localhost is the container itself`,
    },
    {
      matches: says(/ECONNREFUSED/u),
      cause: 'nothing is listening on {at}',
      remedy: `start ${peer}, or correct ${address}`,
    },
    {
      matches: says(/ENOTFOUND|EAI_AGAIN|Name resolution failed/u),
      cause: 'the host name of {at} cannot be resolved',
      remedy: `correct ${address}, or DNS`,
    },
    {
      matches: says(/EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT/u),
      cause: '{at} is unreachable',
      remedy: `correct ${address}, or check the network`,
    },
  ];
}

function tlsCauses(words: CauseWords): readonly Cause[] {
  const { peer, address, certificate, key, noTls, trust, otherName } = words;
  return [
    {
      matches: (said, { isTls }) => isTls && NO_TLS.test(said),
      cause: '{at} does not speak TLS',
      remedy: noTls,
    },
    {
      matches: says(/ALTNAME|altnames|HOSTNAME_MISMATCH|hostname mismatch/u),
      cause: 'the certificate of {at} is for another host name',
      remedy: otherName,
    },
    {
      matches: says(/certificate has expired|CERT_HAS_EXPIRED/u),
      cause: 'the certificate of {at} has expired',
      remedy: 'renew it, or correct the clock',
    },
    {
      matches: says(/certificate is not yet valid|CERT_NOT_YET_VALID/u),
      cause: 'the certificate of {at} is not valid yet',
      remedy: 'check the clocks',
    },
    {
      matches: says(UNTRUSTED),
      cause: 'the certificate of {at} is not trusted',
      remedy: trust,
    },
    {
      matches: (said, { hasClientCertificate }) => hasClientCertificate && CERTIFICATE_ALERT.test(said),
      cause: `${peer} rejects the client certificate`,
      remedy: `make it trust the CA of ${certificate}, or correct ${certificate} and ${key}`,
    },
    {
      matches: (said, { hasClientCertificate }) => hasClientCertificate && HANDSHAKE_ALERT.test(said),
      cause: `${peer} rejects the client certificate, or shares no cipher or TLS version with us`,
      remedy: `correct ${certificate} and ${key}, or enable TLS 1.2 or newer there`,
    },
    {
      matches: says(CERTIFICATE_ALERT),
      cause: `${peer} requires a client certificate`,
      remedy: `set ${certificate} and ${key}`,
    },
    {
      matches: says(HANDSHAKE_ALERT),
      cause: `${peer} requires a client certificate, or shares no cipher or TLS version with us`,
      remedy: `set ${certificate} and ${key}, or enable TLS 1.2 or newer there`,
    },
    {
      matches: says(/protocol version|unsupported protocol|no protocols/u),
      cause: `${peer} shares no TLS version with us`,
      remedy: 'enable TLS 1.2 or newer there',
    },
    {
      matches: says(/alert unrecognized name/u),
      cause: `${peer} does not serve this host name`,
      remedy: `use one that it serves in ${address}`,
    },
    {
      matches: says(/key values mismatch/u),
      cause: `${key} is not the key of ${certificate}`,
      remedy: 'set both to files of the same certificate',
    },
  ];
}

/** The advice of a row, with its placeholders replaced. */
export function advice({ cause, remedy }: Cause<never>, words: Readonly<Record<string, string>>): string {
  return `${cause}: ${remedy}`.replaceAll(/\{(\w+)\}/gu, (match, name: string) => words[name] ?? match);
}
