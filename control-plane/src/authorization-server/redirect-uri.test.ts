import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { formTargetOf, isRegisteredRedirect, redirectKindOf, redirectWith } from './redirect-uri.ts';

describe('a redirect URI', () => {
  it.each([
    ['https', 'https://app.example/callback'],
    ['https', 'https://app.example'],
    ['https', 'https://app.example:8443/a/b.c?tenant=1&x=%2F'],
    ['https', 'https://xn--bcher-kva.example/cb'],
    ['https', 'https://[2001:db8::1]:8443/cb'],
    ['https', 'https://localhost/cb'],
    ['loopback', 'http://127.0.0.1/cb'],
    ['loopback', 'http://127.0.0.1:49152/cb'],
    ['loopback', 'http://[::1]:1/'],
    ['loopback', 'http://localhost:65535/oauth/callback?x=1'],
    ['loopback', 'http://localhost'],
    ['privateUse', 'com.example.app:/oauth2redirect'],
    ['privateUse', 'cursor://anysphere.cursor-mcp/oauth/callback'],
    ['privateUse', 'vscode://vscode.github-authentication/did-authenticate'],
  ])('can be %s: %s', (kind, uri) => {
    expect(redirectKindOf(uri)).toBe(kind);
  });

  it.each([
    '',
    'https:',
    'https://',
    '/callback',
    '//app.example/cb',
    'app.example/cb',
    // Browsers act on these themselves.
    'javascript:alert(1)',
    'javascript://app.example/%0aalert(1)',
    'JavaScript:/alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:/text/html,x',
    'vbscript:/x',
    'file:///etc/passwd',
    'blob:https://app.example/x',
    'blob:/x',
    'about:/blank',
    'view-source:/x',
    'filesystem:/x',
    'intent://scan/#Intent;end',
    'ms-msdt:/id',
    'search-ms:/query',
    'ws://127.0.0.1/cb',
    'wss://app.example/cb',
    'ftp://app.example/cb',
    'mailto:/x@example.org',
    // Not this computer.
    'http://app.example/cb',
    'http://localhost.app.example/cb',
    'http://127.0.0.1.app.example/cb',
    'http://127.0.0.2/cb',
    'http://0.0.0.0/cb',
    'http://[::]/cb',
    'http://localhost./cb',
    // This computer, but not in its one notation.
    'http://127.1/cb',
    'http://2130706433/cb',
    'http://0x7f000001/cb',
    'http://0177.0.0.1/cb',
    'http://[::ffff:127.0.0.1]/cb',
    'http://[0:0:0:0:0:0:0:1]/cb',
    'http://LOCALHOST/cb',
    'HTTP://localhost/cb',
    'http://localhost:0/cb',
    'http://localhost:065/cb',
    'http://localhost:65536/cb',
    'http://localhost:/cb',
    // Userinfo, and what looks like it.
    'https://user@app.example/cb',
    'https://user:pass@app.example/cb',
    'https://@app.example/cb',
    'http://localhost@app.example/cb',
    'http://localhost:80@app.example/cb',
    'http://127.0.0.1:8080\\@app.example/cb',
    'cursor://user@host/cb',
    // A browser would read another address than the text says.
    'https:app.example/cb',
    'https:/app.example/cb',
    'https:///app.example/cb',
    'https:\\\\app.example/cb',
    'HTTPS://app.example/cb',
    'https://App.example/cb',
    'https://app.example:443/cb',
    'https://2130706433/cb',
    'https://app.example\\.evil.example/cb',
    'https://app%2eexample/cb',
    // Fragments, characters that are none of a URI's.
    'https://app.example/cb#',
    'https://app.example/cb#x',
    'http://localhost/#x',
    'com.example.app:/cb#x',
    'https://bücher.example/cb',
    'https://app.example/ü',
    'https://app。example/cb',
    'https://app.example/a b',
    ' https://app.example/cb',
    'https://app.example/cb\n',
    'https://app.example/\r\nSet-Cookie: a=b',
    'https://app.example/\tcb',
    'ht\ntps://app.example/cb',
    'https://app.example/\0',
    'https://app.example/%',
    'https://app.example/%zz',
    'https://app.example/<x>',
    'https://app.example/"x"',
    // A scheme of one's own has a path, and is in lower case.
    'com.example.app:',
    'com.example.app:/',
    'com.example.app:cb',
    'Cursor://cb',
    '1app:/cb',
    `https://app.example/${'a'.repeat(1_000)}`,
  ])('cannot be %j', (uri) => {
    expect(redirectKindOf(uri)).toBeUndefined();
  });
});

describe('the comparison with what was registered (R14)', () => {
  const HTTPS = 'https://app.example/cb';

  it.each([
    `${HTTPS}/`,
    `${HTTPS}x`,
    `${HTTPS}?`,
    `${HTTPS}?x=1`,
    `${HTTPS}#`,
    `${HTTPS}/../cb`,
    'https://app.example/./cb',
    'https://app.example/c',
    'https://app.example/CB',
    'https://app.example/%63b',
    'https://app.example//cb',
    'https://app.example/',
    'https://app.example',
    'https://app.example.evil.example/cb',
    'https://evil.example/https://app.example/cb',
    'https://evilapp.example/cb',
    'https://sub.app.example/cb',
    'https://app.example./cb',
    'https://app.example:443/cb',
    'https://app.example:8443/cb',
    'https://APP.example/cb',
    'HTTPS://app.example/cb',
    'http://app.example/cb',
    'https://app.example@evil.example/cb',
    'https://evil@app.example/cb',
    'https://app.example\\@evil.example/cb',
    'https://аpp.example/cb',
    'https://xn--pp-6kc.example/cb',
    ` ${HTTPS}`,
    `${HTTPS} `,
    `${HTTPS}\n`,
    `${HTTPS}\0`,
  ])('refuses %j where %s is registered'.replace('%s', HTTPS), (presented) => {
    expect(isRegisteredRedirect([HTTPS], presented)).toBe(false);
  });

  it('takes the same text, of whichever of them', () => {
    const registered = [HTTPS, 'cursor://host/cb', 'http://localhost/cb'];
    for (const uri of registered) expect(isRegisteredRedirect(registered, uri)).toBe(true);
    expect(isRegisteredRedirect([], HTTPS)).toBe(false);
  });

  it('takes nothing that could not be registered today, though it once was', () => {
    expect(isRegisteredRedirect(['javascript:alert(1)'], 'javascript:alert(1)')).toBe(false);
  });

  it.each([
    ['http://127.0.0.1/cb', 'http://127.0.0.1:50000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:50000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1/cb'],
    ['http://[::1]:3000/cb?x=1', 'http://[::1]:50000/cb?x=1'],
    ['http://localhost:3000/cb', 'http://localhost:50000/cb'],
  ])('of %s takes any port: %s', (registered, presented) => {
    expect(isRegisteredRedirect([registered], presented)).toBe(true);
  });

  it.each([
    ['http://127.0.0.1:3000/cb', 'http://localhost:3000/cb'],
    ['http://localhost:3000/cb', 'http://127.0.0.1:3000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://[::1]:3000/cb'],
    ['http://127.0.0.1:3000/cb', 'https://127.0.0.1:3000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000/cb/'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000/cbx'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000/cb?x=1'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:0/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:70000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000@evil.example/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000.evil.example/cb'],
    ['http://127.0.0.1', 'http://127.0.0.1.evil.example'],
    ['https://localhost:3000/cb', 'https://localhost:50000/cb'],
    ['https://127.0.0.1:3000/cb', 'https://127.0.0.1:50000/cb'],
    ['https://127.0.0.1:3000/cb', 'http://127.0.0.1:50000/cb'],
  ])('of %s takes nothing else: %s', (registered, presented) => {
    expect(isRegisteredRedirect([registered], presented)).toBe(false);
  });
});

/** A redirect URI with a few characters of it put in, taken out, doubled or changed. */
const nearMatches = (uri: string) =>
  fc
    .array(
      fc.record({
        at: fc.nat(uri.length),
        gone: fc.nat(2),
        text: fc.oneof(
          fc.constantFrom(
            '',
            '/',
            '//',
            '.',
            '..',
            '@',
            ':',
            '?',
            '#',
            '\\',
            '%2f',
            '%2e',
            '%00',
            '\t',
            '\n',
            '\u3002',
            '[',
            ']',
          ),
          fc.constantFrom('evil.example', '127.0.0.1', 'localhost', '[::1]', ':80', 'x@', 'https:', 'http:'),
          fc.string({ maxLength: 3, unit: 'binary' }),
        ),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((edits) =>
      edits.reduce((text, { at, gone, text: put }) => text.slice(0, at) + put + text.slice(at + gone), uri),
    );

test.each([
  'https://app.example/cb?x=1',
  'http://127.0.0.1:3000/cb',
  'http://localhost/cb',
  'com.example.app:/cb',
])(
  'a near match of %s that is taken leads where a browser would have gone from it, but for a port of this computer (R14)',
  (registered) => {
    fc.assert(
      fc.property(nearMatches(registered), (presented) => {
        if (!isRegisteredRedirect([registered], presented)) return;
        const [wanted, read] = [new URL(registered), new URL(presented)];
        if (wanted.protocol === 'http:') wanted.port = read.port;
        expect(read.href).toBe(wanted.href);
        if (wanted.protocol !== 'http:') expect(presented).toBe(registered);
      }),
      { numRuns: 5_000 },
    );
  },
);

describe('the answer', () => {
  const answer = { code: 'a&b', state: 'c d+ü', iss: 'https://own.example' };
  const WRITTEN = 'code=a%26b&state=c%20d%2B%C3%BC&iss=https%3A%2F%2Fown.example';

  it.each([
    ['http://[::1]:8080/cb', `http://[::1]:8080/cb?${WRITTEN}`],
    ['https://app.example', `https://app.example?${WRITTEN}`],
    ['https://app.example/cb?', `https://app.example/cb?${WRITTEN}`],
    ['https://app.example/cb?x=1', `https://app.example/cb?x=1&${WRITTEN}`],
    ['https://app.example/cb?x=1&', `https://app.example/cb?x=1&${WRITTEN}`],
    ['com.example.app:/cb', `com.example.app:/cb?${WRITTEN}`],
  ])('at %s is in the query, beside one that is there', (uri, whole) => {
    expect(redirectWith(uri, answer)).toBe(whole);
    expect(Object.fromEntries(new URL(whole).searchParams)).toMatchObject(answer);
  });

  it.each([
    ['https://app.example:8443/cb', 'https://app.example:8443'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000'],
    ['http://[::1]:3000/cb', 'http:'],
    ['cursor://host/cb', 'cursor:'],
  ])('at %s may be sent by a form under the policy %s', (uri, target) => {
    expect(formTargetOf(uri)).toBe(target);
  });
});
