import { expect, test } from 'vitest';
import { networkFailure } from './send.ts';

const HOST = new URL('https://svault.example:8443/');

const failed = (code: string): Error => Object.assign(new Error('as Node says it'), { code });

test.each([
  ['CERT_HAS_EXPIRED', 'failed', /does not verify \(CERT_HAS_EXPIRED\).*NODE_EXTRA_CA_CERTS/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'failed', /does not verify/],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'failed', /does not verify/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'failed', /does not verify/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'failed', /does not verify/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'failed', /no svault answers at svault\.example:8443/],
  ['EPROTO', 'failed', /no svault answers at svault\.example:8443/],
  ['HPE_INVALID_CONSTANT', 'failed', /no svault answers at svault\.example:8443/],
  ['HPE_HEADER_OVERFLOW', 'failed', /more than a svault would/],
  ['ECONNREFUSED', 'unavailable', /^nothing listens at svault\.example:8443$/],
  ['ENOTFOUND', 'unavailable', /no address/],
  ['EAI_AGAIN', 'unavailable', /no address/],
  ['ETIMEDOUT', 'unavailable', /cannot be reached \(ETIMEDOUT\)/],
])('%s: %s', (code, exit, message) => {
  expect(networkFailure(failed(code), HOST)).toMatchObject({
    exit,
    message: expect.stringMatching(message),
  });
});

test('the failure of a host with several addresses is that of the first', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(networkFailure(new AggregateError([refused, refused]), HOST).message).toBe(
    'nothing listens at svault.example:8443',
  );
});
