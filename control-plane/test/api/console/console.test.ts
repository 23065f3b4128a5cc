import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestBrowser, browserOn } from '../../support/browser.ts';
import { type LinkedService, startLinkedService } from '../../support/linked-service.ts';
import { type ManagementService, makePlace, serveOn } from '../../support/management-service.ts';
import { addMemberWithPassword } from '../../support/members.ts';

const PASSWORD = 'correct horse battery staple';
const SCRIPT = `export const text = '${'agents '.repeat(50)}';`;
const INDEX = '<!doctype html><title>a built console</title>';

let folder: ReturnType<typeof tempDir>;
let service: LinkedService;
let unbuilt: ManagementService;
let visitor: TestBrowser;
let member: TestBrowser;

beforeAll(async () => {
  folder = tempDir();
  mkdirSync(join(folder.path, 'assets'));
  for (const [name, text] of [
    ['index.html', INDEX],
    ['assets/index-abc.js', SCRIPT],
  ] as const) {
    writeFileSync(join(folder.path, name), text);
    writeFileSync(join(folder.path, `${name}.br`), brotliCompressSync(text));
  }
  writeFileSync(join(folder.path, 'assets', 'secret.key'), 'not of the console');
  service = await startLinkedService({}, { consoleFolder: folder.path });
  unbuilt = await serveOn(await makePlace(), undefined, { consoleFolder: join(folder.path, 'none') });
  member = await signedIn(service);
});
afterAll(async () => {
  await service?.stop();
  await unbuilt?.stop();
  folder?.remove();
});
beforeEach(() => {
  visitor = browserOn(service.running.url);
});

async function signedIn(at: ManagementService): Promise<TestBrowser> {
  const { email } = await addMemberWithPassword(at, 'member', PASSWORD);
  const browser = browserOn(at.running.url);
  await browser.submit('/login', { email, password: PASSWORD });
  return browser;
}

const policyOf = ({ headers }: { readonly headers: Headers }): readonly string[] =>
  (headers.get('content-security-policy') ?? '').split(';');

describe('the page of the console', () => {
  test.each(['/', '/agents', '/agents/agt_1?grants=x'])(
    'is at %s for who is signed in, is never stored, and leads others to sign in and back',
    async (path) => {
      const page = await member.get(path);
      expect([page.status, page.text, page.headers.get('cache-control')]).toEqual([200, INDEX, 'no-store']);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      const stranger = await visitor.get(path);
      const returnTo = new URLSearchParams({ returnTo: path }).toString();
      expect([stranger.status, stranger.headers.get('location')]).toEqual([303, `/login?${returnTo}`]);
    },
  );

  test('runs and calls nothing but this service, and the webhook of the account while one is bound', async () => {
    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ];
    expect(policyOf(await member.get('/'))).toEqual(policy);
    await service.bind();
    const { origin } = new URL(service.webhook.offer().webhookUrl);
    expect(policyOf(await member.get('/agents'))).toEqual(
      policy.map((part) => (part.startsWith('connect-src') ? `connect-src 'self' ${origin}` : part)),
    );
    await service.admin('DELETE', '/api/webhook');
    expect(policyOf(await member.get('/'))).toEqual(policy);
  });

  test.each([
    ['an address that is none of its screens', '/agent', 'text/html', 404],
    ['an address below one of its screens', '/agents/agt_1/none', 'text/html', 404],
    ['a route of the API that is not there', '/api/nothing', 'text/html', 404],
    ['a path of a webhook', '/v1/anything', 'text/html', 404],
    ['a program that asks for JSON', '/agents', 'application/json', 404],
    ['a closed route of the API, which has a screen of the same name', '/api/agents', 'text/html', 200],
  ])('is not the answer to %s', async (_what, path, accept, status) => {
    const answer = await member.get(path, { accept });
    expect([answer.status, answer.text.includes('a built console')]).toEqual([status, false]);
  });

  test('takes no form: a POST to / is 405, and one to a screen 404', async () => {
    expect((await member.submit('/', {})).status).toBe(405);
    expect((await member.submit('/agents', {})).status).toBe(404);
  });
});

describe('a file of the console', () => {
  const get = (path: string, encoding: string) =>
    visitor.get(path, { 'accept-encoding': encoding, accept: '*/*' });

  test.each([
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', null],
    ['br;q=0, gzip', null],
    ['identity', null],
  ])(
    'asked for with Accept-Encoding %s comes with Content-Encoding %s, to be kept',
    async (accepted, sent) => {
      const { status, headers, text } = await get('/assets/index-abc.js', accepted);
      expect([status, text]).toEqual([200, SCRIPT]);
      expect(headers.get('content-encoding')).toBe(sent);
      expect(headers.get('vary')).toContain('Accept-Encoding');
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  test.each([
    '/assets/none.js',
    '/assets/secret.key',
    '/assets/index-abc.js.br',
    '/assets/..%2findex.html',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/__proto__',
    '/assets/',
  ])('%s is not there', async (path) => {
    expect((await get(path, 'br')).status).toBe(404);
  });
});

describe('who signs in and was going nowhere else', () => {
  test.each([
    ['in the console', () => service, '/'],
    ['on the account page, where no console is built,', () => unbuilt, '/login'],
  ])('ends %s by password', async (_where, at, path) => {
    const { email } = await addMemberWithPassword(at(), 'member', PASSWORD);
    const answer = await browserOn(at().running.url).submit('/login', { email, password: PASSWORD });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, path]);
  });

  test.each([
    ['in the console', () => service, 303, '/'],
    ['on a page that leads to the account page, where no console is built,', () => unbuilt, 200, null],
  ])('ends %s by the link of an invitation', async (_where, at, status, path) => {
    const invited = await at().admin('POST', '/api/members', {
      body: { email: `invited-${status}@example.org`, role: 'member' },
    });
    const token = new URL(invited.json.link.url).searchParams.get('token') ?? '';
    const answer = await browserOn(at().running.url).submit('/login/link', { token });
    expect([answer.status, answer.headers.get('location')]).toEqual([status, path]);
    expect(answer.text.includes('Go on to <a href="/login">your account</a>')).toBe(path === null);
  });
});

test('without a build the page at / says how to make one, and all else works', async () => {
  const owner = await signedIn(unbuilt);
  const page = await owner.get('/');
  expect(page.text).toContain('<h1>The console is not built</h1>');
  expect(page.text).toContain('npm run build --workspace control-plane/console');
  expect((await owner.get('/assets/index-abc.js')).status).toBe(404);
  expect((await owner.get('/api/me')).status).toBe(200);
});
