import { expect, test } from 'vitest';
import { isSameOrigin } from './origin-check.ts';

const OWN = 'https://svault.example';

test.each([
  [{ origin: OWN }, true],
  [{ origin: `${OWN}.evil.example` }, false],
  [{ origin: `${OWN}:444` }, false],
  [{ origin: 'http://svault.example' }, false],
  [{ origin: OWN.toUpperCase() }, false],
  [{ origin: `${OWN}/` }, false],
  [{ origin: `${OWN}@evil.example` }, false],
  [{ origin: `${OWN}, https://evil.example` }, false],
  [{ origin: `https://evil.example ${OWN}` }, false],
  [{ referer: `${OWN}/vault/webhook-bind` }, false],
  [{ origin: '' }, false],
  [{}, false],
  [{ 'sec-fetch-site': 'same-origin' }, false],
  [{ origin: 'null' }, false],
  [{ origin: 'null', 'sec-fetch-site': 'same-origin' }, true],
  [{ origin: 'null', 'sec-fetch-site': 'same-site' }, false],
  [{ origin: 'null', 'sec-fetch-site': 'none' }, false],
  [{ origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, false],
] as const)('%j → %j', (headers: Readonly<Record<string, string>>, expected) => {
  expect(isSameOrigin((name) => headers[name], OWN)).toBe(expected);
});
