import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { loopbackAnswer } from '../src/login/loopback-answer.ts';
import { isAnswerOf, isPageOf } from '../src/login/service-identity.ts';
import { type CommandLine, commandLine } from './command-line.ts';

// A service that means harm passes a sign-in of its own on to another one, where the same person is signed in: what they allow
// there must not come back to it.

const SERVICE = 'https://svault.example.org';

describe('the page of a sign-in', () => {
  test.each([
    ['https://svault.example.org/login/cli?request=clr_x', SERVICE, true],
    ['https://svault.example.org/at/login/cli', `${SERVICE}/at`, true],
    ['https://svault.example.org/login/cli', `${SERVICE}/at`, false],
    ['https://svault.example.org.evil.example/login/cli', SERVICE, false],
    ['https://svault.example.org:8443/login/cli', SERVICE, false],
    ['https://other.example/login/cli', SERVICE, false],
    ['http://127.0.0.1:631/admin', SERVICE, false],
    ['https://svault.example.org/login/cli', 'http://127.0.0.1:8080', true],
    ['https://svault.example.org/login/cli', 'http://localhost:8080', true],
  ])('%s of %s: %s', (page, baseUrl, isItsOwn) => {
    expect(isPageOf(new URL(page), baseUrl)).toBe(isItsOwn);
  });
});

describe('the answer of a browser', () => {
  test.each([
    [SERVICE, SERVICE, true],
    [`${SERVICE}/`, SERVICE, true],
    [undefined, SERVICE, false],
    ['https://other.example', SERVICE, false],
    ['', SERVICE, false],
    [undefined, 'http://127.0.0.1:8080', true],
  ])('of %s where %s was asked: %s', (issuer, baseUrl, isIts) => {
    expect(isAnswerOf(issuer, baseUrl)).toBe(isIts);
  });

  test('names its service once', () => {
    const answer = (query: string): unknown => loopbackAnswer(new URLSearchParams(query), 's');
    const encoded = encodeURIComponent(SERVICE);
    expect(answer(`state=s&code=c&iss=${encoded}`)).toEqual({ code: 'c', issuer: SERVICE });
    expect(answer(`state=s&code=c&iss=${encoded}&iss=x`)).toEqual({ code: 'c', issuer: undefined });
    expect(answer('state=s&code=c')).toEqual({ code: 'c', issuer: undefined });
  });
});

describe('a sign-in at a service elsewhere', () => {
  const onWire = globalThis.fetch;
  let person: CommandLine;
  afterEach(() => {
    vi.unstubAllGlobals();
    person.remove();
  });

  /** What the service was sent, in order: it begins sign-ins, with this page, and takes nothing else. */
  function serviceWithPage(authorizeUrl: string): { path: string; redirectUri?: string }[] {
    const sent: { path: string; redirectUri?: string }[] = [];
    vi.stubGlobal('fetch', async ({ pathname }: URL, { body }: { body: string }) => {
      sent.push({ path: pathname, ...(JSON.parse(body) as { redirectUri?: string }) });
      return Response.json({ requestId: 'clr_x', authorizeUrl, userCode: 'ABCD-EFGH', expiresInSeconds: 60 });
    });
    return sent;
  }
  const login = (...args: string[]): ReturnType<CommandLine['svault']> => {
    person = commandLine({ PATH: '/nowhere', SVAULT_BASE_URL: SERVICE });
    return person.svault(['login', ...args]);
  };

  test.each([[[]], [['--no-launch-browser']]])('opens no page of another one (%j)', async (args) => {
    const sent = serviceWithPage('https://other.example/login/cli?request=clr_x');
    expect(await login(...args)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^error: svault\.example\.org wants a page of https:\/\/other\.example opened, [^\n]*\n$/,
      ),
    });
    expect(sent).toHaveLength(1);
  });

  test.each(['', '&iss=https%3A%2F%2Fother.example'])('gets no code of another one (“%s”)', async (iss) => {
    const sent = serviceWithPage(`${SERVICE}/login/cli?request=clr_x`);
    const done = login();
    while (sent.length === 0) await nextTurn();
    const answered = async (): Promise<boolean> =>
      (await onWire(`${sent[0]?.redirectUri ?? ''}?state=clr_x&code=c${iss}`)).ok;
    while (!(await answered())) await nextTurn();
    const { code, err } = await done;
    expect({ code, said: err.split('\n').at(-2) }).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^error: what was allowed in the browser is a sign-in at .*, and not at https:\/\/svault\.example\.org: /,
      ),
    });
    expect(sent.map(({ path }) => path)).toEqual(['/api/cli/login/begin']);
  });
});
