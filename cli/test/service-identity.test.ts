import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type Server, createServer, globalAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loopbackAnswer } from '../src/commands/login/loopback-listener.ts';
import { isAnswerOf, isPageOf } from '../src/commands/login/browser-login.ts';
import { type Outcome, someone } from './command-line.ts';

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

  test('names its control plane once', () => {
    const answer = (query: string): unknown => loopbackAnswer(new URLSearchParams(query), 's');
    const encoded = encodeURIComponent(SERVICE);
    expect(answer(`state=s&code=c&iss=${encoded}`)).toEqual({ code: 'c', issuer: SERVICE });
    expect(answer(`state=s&code=c&iss=${encoded}&iss=x`)).toEqual({ code: 'c', issuer: undefined });
    expect(answer('state=s&code=c')).toEqual({ code: 'c', issuer: undefined });
  });
});

describe('a sign-in at a control plane elsewhere', () => {
  const HOST = 'svault.example.org';
  let service: Server;
  let baseUrl: string;
  let authorizeUrl: string;
  /** What the control plane was sent, in order: it begins sign-ins, with this page, and takes nothing else. */
  let sent: { path: string; redirectUri?: string }[];

  beforeAll(async () => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: HOST }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: HOST }] }],
    });
    const begin = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      const { redirectUri } = (await json(req)) as { redirectUri?: string };
      sent.push({ path: req.url ?? '', ...(redirectUri !== undefined && { redirectUri }) });
      const begun = { requestId: 'clr_x', authorizeUrl, userCode: 'ABCD-EFGH', expiresInSeconds: 60 };
      res.end(JSON.stringify(begun));
    };
    service = createServer({ key, cert }, (req, res) => void begin(req, res)).listen(0, '127.0.0.1');
    await once(service, 'listening');
    baseUrl = `https://${HOST}:${(service.address() as AddressInfo).port}`;
    // As if a name server and an authority knew it.
    Object.assign(globalAgent.options, {
      ca: cert,
      lookup: (_host: string, _options: object, found: (error: null, addresses: object[]) => void) =>
        found(null, [{ address: '127.0.0.1', family: 4 }]),
    });
  });
  beforeEach(() => {
    sent = [];
  });
  afterAll(() => {
    delete globalAgent.options.ca;
    delete globalAgent.options.lookup;
    globalAgent.destroy();
    service.close();
  });
  const login = (...args: string[]): Promise<Outcome> =>
    someone({ PATH: '/nowhere', SVAULT_BASE_URL: baseUrl }).svault(['login', ...args]);

  test.each([[[]], [['--no-launch-browser']]])('opens no page of another one (%j)', async (args) => {
    authorizeUrl = 'https://other.example/login/cli?request=clr_x';
    expect(await login(...args)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^error: svault\.example\.org:\d+ wants a page of https:\/\/other\.example opened, [^\n]*\n$/,
      ),
    });
    expect(sent).toHaveLength(1);
  });

  test.each(['', '&iss=https%3A%2F%2Fother.example'])('gets no code of another one (“%s”)', async (iss) => {
    authorizeUrl = `${baseUrl}/login/cli?request=clr_x`;
    const done = login();
    while (sent.length === 0) await nextTurn();
    const answered = async (): Promise<boolean> =>
      (await fetch(`${sent[0]?.redirectUri ?? ''}?state=clr_x&code=c${iss}`, { redirect: 'manual' }))
        .status === 303;
    while (!(await answered())) await nextTurn();
    const { code, err } = await done;
    expect({ code, said: err.split('\n').at(-2) }).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^error: what was allowed in the browser is a sign-in at .*, and not at https:\/\/svault\.example\.org:\d+: /,
      ),
    });
    expect(sent.map(({ path }) => path)).toEqual(['/api/cli/login/begin']);
  });
});
