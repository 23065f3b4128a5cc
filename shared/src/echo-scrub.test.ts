import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createScrub } from './echo-scrub.ts';

const SECRET = 'ghp_s3cret/+=value~?>';
const SECRET_CHARACTERS = 'abcXYZ019+/=~ _-%&'.split('');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const everyByte = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const survives = (value: string, secret = SECRET): boolean =>
  createScrub(secret)([['x-echo', value]]).length === 1;

describe('a header field of a response is removed if it contains the secret (R18)', () => {
  it.each([
    ['as it is', SECRET],
    ['within something', `Bearer ${SECRET}; x`],
    ['percent-encoded', encodeURIComponent(SECRET)],
    ['percent-encoded in lower case', encodeURIComponent(SECRET).toLowerCase()],
    ['percent-encoded byte by byte', everyByte(SECRET)],
    ['beside a broken escape', `%zz%${encodeURIComponent(SECRET)}%`],
    ['as a form', new URLSearchParams({ token: SECRET }).toString()],
    ['in base64', base64(SECRET)],
    ['in base64 without padding', base64(SECRET).replaceAll('=', '')],
    ['in base64url', base64url(SECRET)],
    ['in base64 of more', base64(`Bearer ${SECRET}`)],
    ['in base64 of more, at another place', base64(`Bearer: ${SECRET} and so on`)],
    ['in base64 of more, at the third place', base64(`{"token":"${SECRET}"}`)],
    ['in base64url of more', base64url(`user:${SECRET}`)],
    ['percent-encoded twice', encodeURIComponent(`/sign-in?next=${encodeURIComponent(SECRET)}`)],
    [
      'as a form within a form',
      new URLSearchParams({ next: String(new URLSearchParams({ token: SECRET })) }).toString(),
    ],
    ['percent-encoded three times', everyByte(everyByte(encodeURIComponent(SECRET)))],
    ['in percent-encoded base64', encodeURIComponent(base64(`x${SECRET}`))],
  ])('%s', (_how, value) => {
    expect(survives(value)).toBe(false);
  });

  it('in its name', () => {
    expect(createScrub('GHP_abcdEFGH0123')([['x-ghp_abcdefgh0123', '1']])).toEqual([]);
  });

  it('as the password of Basic credentials', () => {
    const secret = base64('user:correct-horse-battery');
    for (const value of [
      'user:correct-horse-battery',
      'correct-horse-battery',
      base64('x correct-horse-battery'),
    ])
      expect(survives(value, secret)).toBe(false);
    expect(survives('user:correct-horse', secret)).toBe(true);
  });

  it('with any text around it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 16, maxLength: 40, unit: fc.constantFrom(...SECRET_CHARACTERS) }),
        fc.string({ maxLength: 9 }),
        fc.string({ maxLength: 9 }),
        (secret, before, after) => {
          for (const encode of [String, encodeURIComponent, everyByte, base64, base64url]) {
            const value = encode(
              before.replaceAll(/[\ud800-\udfff]/g, '') + secret + after.replaceAll(/[\ud800-\udfff]/g, ''),
            );
            expect([encode.name, value, survives(value, secret)]).toEqual([encode.name, value, false]);
          }
        },
      ),
    );
  });

  it('a field with the secret in form encoding is removed, whether a + stands for itself or for a space', () => {
    const secret = 'key of forms/+0123456789';
    for (const text of [String(new URLSearchParams({ key: secret })), 'a=key+of+forms/%2B0123456789&b'])
      expect([text, survives(text, secret)]).toEqual([text, false]);
    expect(survives('key+of+spaces+0123456789', 'key of spaces 0123456789')).toBe(false);
  });

  it('other fields are kept', () => {
    const fields = [
      ['content-type', 'text/event-stream'],
      ['content-length', '123456'],
      ['location', 'https://api.test/a%20b?c=%zz'],
      ['x-part', SECRET.slice(0, -1)],
      ['mcp-session-id', base64(SECRET.slice(1))],
    ] as const;
    expect(createScrub(SECRET)(fields)).toEqual(fields);
  });

  it('a field with only a part of the secret is kept', () => {
    fc.assert(
      fc.property(
        fc.nat(SECRET.length),
        fc.nat(SECRET.length),
        fc.string({ maxLength: 9 }),
        (from, to, around) => {
          const part = SECRET.slice(from, to);
          const value = part + around.replaceAll(/[^ -~]/g, '');
          // What is drawn around it may complete the secret.
          fc.pre(part.length <= SECRET.length - 2 && !value.includes(SECRET));
          for (const encode of [String, encodeURIComponent, everyByte, base64, base64url])
            expect([value, survives(encode(value))]).toEqual([value, true]);
        },
      ),
    );
  });
});

describe('for a short secret', () => {
  const head = (value: string) =>
    createScrub('482913')([
      ['content-type', value],
      ['mcp-session-id', value],
      ['content-length', value],
      ['x-echo', value],
      [`x-${value}`, value],
      ['set-cookie', value],
    ]).map(([name]) => name);

  it('no field is removed, whatever it contains', () => {
    for (const value of ['482913', 'Bearer 482913', base64('482913'), '482914', ''])
      expect(head(value)).toEqual(['content-type', 'mcp-session-id', 'content-length']);
  });

  it('Location is removed where it was in a query, whatever it contains', () => {
    const scrubbed = (inQuery: boolean, value: string) =>
      createScrub('482913', { inQuery })([
        ['location', value],
        ['content-type', 'a/b'],
      ]).map(([name]) => name);
    for (const value of ['/?key=482913', '/?key=482914', '/']) {
      expect(scrubbed(true, value)).toEqual(['content-type']);
      expect(scrubbed(false, value)).toEqual(['location', 'content-type']);
    }
  });
});
