import { expect, test } from 'vitest';
import { issuerProblem } from './issuer.ts';

const ORIGIN = 'https://id.example';

test.each([
  ['', '/'],
  ['/', ''],
  ['/realm', '/realm/'],
  ['/realm', '/re%61lm'],
  ['', '/other'],
  ['/.well-known/openid-configuration', ''],
])('an issuer that ends in %j is not the one that ends in %j', (configured, stated) => {
  const problem = issuerProblem(ORIGIN + configured, ORIGIN + stated);
  expect(problem).toContain(`SV_OIDC_ISSUER is "${ORIGIN}${configured}"`);
  expect(problem).toContain(`its issuer is "${ORIGIN}${stated}"`);
});

test.each(['', '/', '/realm', '/realm/'])('an issuer that ends in %j is itself', (path) => {
  expect(issuerProblem(ORIGIN + path, ORIGIN + path)).toBeUndefined();
});
