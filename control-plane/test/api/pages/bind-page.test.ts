import { toBase64, toBase64url, utf8 } from '@svault/shared';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fieldsOf } from '../../support/browser.ts';
import { type LinkedService, startLinkedService } from '../../support/linked-service.ts';
import { type Answer, BASE_URL, clientOf } from '../../support/management-service.ts';

const PATH = '/vault/webhook-bind';

describe('the page /vault/webhook-bind', () => {
  let service: LinkedService;
  /** `svault=…` of a signed-in owner. */
  let session: string;

  beforeAll(async () => {
    service = await startLinkedService();
    const token = new URL(service.running.ownerLink ?? '').searchParams.get('token');
    const answer = await service.anyone('POST', '/api/login/link', { body: { token } });
    session = cookieOf(answer);
  });
  afterEach(async () => {
    await service.admin('POST', '/api/vault/unlock');
    await service.admin('DELETE', '/api/webhook');
  });
  afterAll(() => service.stop());

  const cookieOf = (answer: Answer): string => answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const browser = (...cookies: string[]) => clientOf(service.running.url, { cookie: cookies.join('; ') });

  type Offer = ReturnType<LinkedService['webhook']['offer']>;

  const linkOf = ({ code, webhookUrl, hmacHash }: Offer, encode = toBase64url): string =>
    `${PATH}?code=${code}&webhook_url=${encode(utf8(webhookUrl))}&hmac_hash=${hmacHash}`;

  /** Follows the link as a browser does. @returns the page, and the cookie that it came with */
  const open = async (link: string): Promise<{ page: Answer; offerCookie: string }> => {
    const answer = await browser(session)('GET', link);
    const offerCookie = cookieOf(answer);
    return { page: await browser(session, offerCookie)('GET', PATH), offerCookie };
  };

  const post = (offer: Offer, headers: Record<string, string> = { origin: BASE_URL }, cookie = session) =>
    browser(cookie)('POST', PATH, {
      rawBody: new URLSearchParams({ ...offer }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });

  const isBound = async (): Promise<boolean> =>
    (await service.admin('GET', '/api/webhook')).json.bound as boolean;

  it('removes the query from the address bar at once', async () => {
    const answer = await browser(session)('GET', linkOf(service.webhook.offer()));
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(PATH);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax; Max-Age=300$/);
  });

  it('shows address, account and fingerprint, and binds nothing', async () => {
    const offer = service.webhook.offer();
    service.webhook.served.length = 0;
    const { page } = await open(linkOf(offer));
    expect(page.status).toBe(200);
    expect(page.text).toContain(offer.webhookUrl);
    expect(page.text).toContain('owner@example.org');
    expect(page.text).toContain(offer.hmacHash.slice(0, 16).replaceAll(/(.{4})(?=.)/g, '$1 '));
    expect(page.text).not.toContain('<script');
    expect(service.webhook.served).toEqual([]);
    expect(await isBound()).toBe(false);
  });

  it('denies frames, and posts to itself only', async () => {
    // Base64 whose plus became a space: the forms of `webhook_url` are those of `decodeWebhookUrl`.
    const offer = { ...service.webhook.offer(), webhookUrl: 'https://vault.example.org/~~~/a~~b' };
    const { page } = await open(linkOf(offer, toBase64));
    expect(page.text).toContain(offer.webhookUrl);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).toContain("default-src 'none'");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  });

  // spec: GET (browser) | /vault/webhook-bind | Bind page.
  it('binds by its form', async () => {
    const offer = service.webhook.offer();
    const { page } = await open(linkOf(offer));
    expect(fieldsOf(page.text)).toEqual(offer);
    const answer = await post(offer);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/webhook');
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await browser(session)('GET', PATH)).text).toContain('A webhook is bound');
    expect(await isBound()).toBe(true);
  });

  it.each([
    ['no Origin', {}],
    ['another Origin', { origin: 'https://evil.example' }],
    ['the Origin null of a foreign frame', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['the same host over another scheme', { origin: BASE_URL.replace('http:', 'https:') }],
  ])('rejects a POST with %s', async (_name, headers) => {
    expect((await post(service.webhook.offer(), headers)).status).toBe(403);
    expect(await isBound()).toBe(false);
  });

  it('accepts the Origin null that a browser sends from a page without referrer', async () => {
    const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' };
    expect((await post(service.webhook.offer(), headers)).status).toBe(303);
  });

  it('requires a signed-in user, keeps the link through the sign-in, and accepts no admin key', async () => {
    const signIn = `/login?returnTo=${encodeURIComponent(PATH)}`;
    const offer = service.webhook.offer();
    const first = await browser()('GET', linkOf(offer));
    const offerCookie = cookieOf(first);
    const sent = await browser(offerCookie)('GET', PATH);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, signIn]);
    const signedIn = await browser(offerCookie, session)('GET', signIn);
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, PATH]);
    expect((await browser(offerCookie, session)('GET', PATH)).text).toContain(offer.webhookUrl);
    expect((await post(offer, { origin: BASE_URL }, '')).headers.get('location')).toBe(signIn);
    const headers = { origin: BASE_URL, authorization: `Bearer ${service.place.adminKey}` };
    expect((await post(offer, headers, '')).headers.get('location')).toBe(signIn);
    expect(await isBound()).toBe(false);
  });

  it('denies the binding of another webhook while one is bound', async () => {
    await service.bind();
    const offer = { ...service.webhook.offer(), webhookUrl: 'https://other.example' };
    const { page } = await open(linkOf(offer));
    expect(page.status).toBe(409);
    expect(page.text).toContain('Nothing has been changed');
    expect(page.text).not.toContain('<form');
    expect((await post(offer)).status).toBe(409);
  });

  it('says of the bound webhook that it is bound, which is no error, also to a second click', async () => {
    const offer = service.webhook.offer();
    expect((await post(offer)).status).toBe(303);
    service.webhook.served.length = 0;
    const again = await post(offer);
    expect([again.status, again.headers.get('location')]).toEqual([303, '/webhook']);
    const { page } = await open(linkOf(offer));
    expect(page.status).toBe(200);
    expect(page.text).toContain('<h1>A webhook is bound</h1>');
    expect(page.text).toContain('unseal-bind');
    expect((await browser(session)('GET', PATH)).text).not.toContain('unseal-bind');
    expect(service.webhook.served).toEqual([]);
  });

  it('binds nothing when the person cancels, and forgets the link', async () => {
    const offer = service.webhook.offer();
    service.webhook.served.length = 0;
    const answer = await browser(session)('POST', PATH, {
      rawBody: new URLSearchParams({ ...offer, decision: 'cancel' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL },
    });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('Nothing is bound')]);
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0');
    expect(service.webhook.served).toEqual([]);
    expect(await isBound()).toBe(false);
  });

  it('denies a binding while the vault is locked', async () => {
    await service.admin('POST', '/api/vault/lock');
    expect((await post(service.webhook.offer())).status).toBe(423);
    expect(await isBound()).toBe(false);
  });

  it('says why a binding failed, with the next step', async () => {
    const offer = service.webhook.offer();
    service.webhook.offer();
    const answer = await post(offer);
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('Make a new link');
  });

  it.each([
    '?code=1',
    '?code=x&webhook_url=aHR0cA&hmac_hash=y',
    `?code=a&code=b`,
    '?webhook_url=%00&hmac_hash=<script>',
  ])('shows no form for the link %s', async (query) => {
    const { page } = await open(PATH + query);
    expect(page.status).toBe(400);
    expect(page.text).not.toContain('<form');
    expect(page.text).not.toContain('<script');
  });

  it('shows a planted cookie only where it is a well-formed offer', async () => {
    const planted = `svault-bind=${toBase64url(utf8('{"code":"<b>","webhookUrl":"javascript:0","hmacHash":1}'))}`;
    expect((await browser(session, planted)('GET', PATH)).status).toBe(400);
    expect((await browser(session, 'svault-bind=%%%')('GET', PATH)).status).toBe(400);
  });

  it('answers 405 to other methods', async () => {
    const answer = await browser(session)('DELETE', PATH);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
  });
});
