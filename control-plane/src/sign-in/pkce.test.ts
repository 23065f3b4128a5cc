import { expect, it } from 'vitest';
import { provesChallenge } from './pkce.ts';

// RFC 7636 appendix B.
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

it('takes the verifier of the RFC for its challenge', () => {
  expect(provesChallenge(VERIFIER, CHALLENGE)).toBe(true);
});

it.each([
  ['another verifier', `${VERIFIER.slice(0, -1)}l`],
  ['the challenge itself, as plain would have it', CHALLENGE],
  ['a short one', VERIFIER.slice(0, 42)],
  ['one with a line end', `${VERIFIER}\n`],
  ['nothing', ''],
])('refuses %s', (_what, verifier) => {
  expect(provesChallenge(verifier, CHALLENGE)).toBe(false);
});
