/** What is checked of a certificate and by which files; one for localhost and one for 127.0.0.1 are for both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerCertificate } from 'node:tls';
import { tlsOptions } from '../../../src/broker/server/tls-files.ts';

const TLS = { caFile: undefined, certFile: undefined, keyFile: undefined, verify: true, checkHost: true };

/** What the check reads of a certificate. */
function certificateFor(subjectaltname: string): PeerCertificate {
  const names = { C: '', ST: '', L: '', O: '', OU: '', CN: '' };
  const validity = { valid_from: '', valid_to: '', serialNumber: '', fingerprint: '' };
  return {
    ...{ subject: names, issuer: names, subjectaltname, ca: false, raw: Buffer.alloc(0) },
    ...{ ...validity, fingerprint256: '', fingerprint512: '' },
  };
}

test('localhost and 127.0.0.1', async () => {
  const { checkServerIdentity: fault } = await tlsOptions(TLS);
  for (const names of ['DNS:localhost', 'IP Address:127.0.0.1'])
    assert.equal(fault('127.0.0.1', certificateFor(names)), undefined, names);
  assert.ok(fault('127.0.0.1', certificateFor('DNS:broker')) instanceof Error);
  assert.ok(fault('10.0.0.1', certificateFor('DNS:localhost')) instanceof Error);
  assert.ok(fault('broker', certificateFor('DNS:localhost')) instanceof Error);
  const unchecked = await tlsOptions({ ...TLS, checkHost: false });
  assert.equal(unchecked.checkServerIdentity('broker', certificateFor('DNS:other')), undefined);
});

test('a file that cannot be read is refused by the name of its key, and what is not verified needs none', async () => {
  const missing = /^Refusal: cannot read ssl_ca_certs: ENOENT.*\/nowhere\/ca\.pem/u;
  await assert.rejects(tlsOptions({ ...TLS, caFile: '/nowhere/ca.pem' }), missing);
  assert.equal((await tlsOptions({ ...TLS, verify: false })).rejectUnauthorized, false);
});
