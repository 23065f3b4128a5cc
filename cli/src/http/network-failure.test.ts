import { expect, test } from 'vitest';
import { networkFailure } from './network-failure.ts';

const HOST = new URL('https://svault.example:8443/');

/** As `fetch` throws it: the reason is inside. */
const fetchFailed = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('inner'), { code }) });

test.each([
  ['CERT_HAS_EXPIRED', 'failed', /does not verify \(CERT_HAS_EXPIRED\).*NODE_EXTRA_CA_CERTS/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'failed', /does not verify/],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'failed', /does not verify/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'failed', /does not verify/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'failed', /does not verify/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'failed', /is the address right/],
  ['UND_ERR_HEADERS_OVERFLOW', 'failed', /more than a svault would/],
  ['ECONNREFUSED', 'unavailable', /nothing listens at svault\.example:8443/],
  ['ENOTFOUND', 'unavailable', /no address/],
  ['EAI_AGAIN', 'unavailable', /no address/],
  ['ETIMEDOUT', 'unavailable', /cannot be reached \(ETIMEDOUT\)/],
])('%s: %s', (code, exit, message) => {
  expect(networkFailure(fetchFailed(code), HOST)).toMatchObject({
    exit,
    message: expect.stringMatching(message),
  });
});

test('a host with several addresses: what is said of the first of them', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const error = new TypeError('fetch failed', { cause: new AggregateError([refused, refused]) });
  expect(networkFailure(error, HOST).message).toBe('nothing listens at svault.example:8443');
});
