import { expect, test } from 'vitest';
import { createAliases } from './aliases.ts';

test.each([
  ['a token', 'Bearer q0Zr8TnPpXlT5u4QJd2mSg', 'Bearer <1>'],
  ['a token without digits', 'req_AaIMGVrJBsbBBBHWCJhDBQ', '<1>'],
  ['a name of the suite', 'svault-conformance-ZN2yQm4Xb0c%2F', 'svault-conformance-<1>%2F'],
  ['a key in PEM', '-----BEGIN KEY-----\\nMC4/+a\\n-----END KEY-----\\n', '<1>\\n'],
  ['a signature', 'sv=:3YfJ+cO5 GNKhx=:', 'sv=:<1>:'],
  ['times', 'created=1795313040;at="2026-11-24T05:40:07.123Z"', 'created=<time>;at="<time>"'],
  ['a one-time code', '{"accessToken":"094287"}', '{"accessToken":"<code>"}'],
  ['a port', 'http://127.0.0.1:40213/x', 'http://127.0.0.1:<port>/x'],
])('%s, which is another one in each run, becomes an alias', (_, text, shown) => {
  expect(createAliases().apply(text)).toBe(shown);
});

test.each([
  '"DESTINATION_NOT_ALLOWED"',
  '/v1/refresh-notify',
  'application/x-www-form-urlencoded',
  '1048576',
])('%s, which is the same in each run, stays', (text) => {
  expect(createAliases().apply(text)).toBe(text);
});

test('a value has one alias wherever it stands, and the table says what it was', () => {
  const aliases = createAliases();
  expect(aliases.apply('q0Zr8TnPpXlT5u4QJd2mSg M3Zr8TnPpXlT5u4QJd2mSg q0Zr8TnPpXlT5u4QJd2mSg')).toBe(
    '<1> <2> <1>',
  );
  expect(aliases.table()).toEqual({ '<1>': 'q0Zr8TnPpXlT5u4QJd2mSg', '<2>': 'M3Zr8TnPpXlT5u4QJd2mSg' });
});
