import { expect } from 'vitest';
import { browserOn } from '../support/browser.ts';
import { byHand } from '../support/http-by-hand.ts';
import { CLIENT, beginAt, pathOf, startProvider } from '../support/identity-provider.ts';
import { type Answer, startService } from '../support/management-service.ts';
import { mcpClientOf } from '../support/mcp-steps.ts';
import { stepsOn } from '../support/service-steps.ts';
import { type ProxyFixture, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

/** `/v1/exchange` reads its code first: that is its key (protocol section 5.1). */
const SIGNED = ['/v1/storage', '/v1/proxy', '/v1/refresh-notify', '/v1/refresh', '/v1/health'];
const REFUSED = [401, 'SIGNATURE_INVALID'];

interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The last call of `/v1/storage`, as whoever listens could read it. */
function overheard({ passed }: ProxyFixture): SignedRequest {
  const text = passed().split('POST /v1/storage HTTP/1.1\r\n').at(-1) ?? '';
  const [head = '', rest = ''] = text.split('\r\n\r\n');
  const pairs = head.split('\r\n').map((line) => line.split(/: (.*)/s).slice(0, 2));
  const headers = Object.fromEntries(pairs) as Record<string, string>;
  return { headers, body: rest.slice(0, Number(headers['content-length'])) };
}

/** Status and code of the webhook's answer to a request that is sent by hand. */
async function said(
  { pair }: ProxyFixture,
  path: string,
  { headers, body }: SignedRequest,
): Promise<unknown> {
  const url = pair.bypassingRecorder(pair.webhookUrl) + path;
  const { connection: _hop, ...sent } = headers;
  const { status, text } = await byHand(url, { headers: sent, chunks: [body] });
  return [status, (JSON.parse(text) as { code?: string }).code];
}

test(
  'every request to the webhook is signed by HMAC-SHA256 with the exchanged secret',
  spec('HMAC-SHA256 request signing, with a secret established through the one-time /v1/exchange code.'),
  async ({ fixture }) => {
    fixture.passed();
    await fixture.admin('GET', '/api/tokens/github');
    const { headers } = overheard(fixture);
    expect(headers['signature-input']).toMatch(
      /^sv=\("@method" "@authority" "@path" "@query" "content-type" "content-digest"\);.*;alg="hmac-sha256";tag="sv-webhook-v1"$/,
    );
    // An HMAC-SHA256 is 32 bytes; the secret itself never passes again.
    const [, mac = ''] = /^sv=:(.*):$/.exec(headers['signature'] ?? '') ?? [];
    expect(Buffer.from(mac, 'base64')).toHaveLength(32);
    const passed = fixture.pair.recorded().toString('latin1');
    const [secret, ...others] = [...passed.matchAll(/"hmacSecret":"([\w-]{43})"/g)].map(
      ([, found]) => found!,
    );
    expect([others, passed.split(secret!)]).toEqual([[], [expect.any(String), expect.any(String)]]);
  },
);

test(
  'an agent is sent to the webhook with a ticket signed by HMAC-SHA256',
  spec('Agent to webhook: a signed credential ticket (HMAC-SHA256) in the redirect or signed URL.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await fixture.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    const { anyone } = fixture;
    const { content } = await mcpClientOf({ anyone }, agent.apiKey).call2025('get_credential', {
      service: 'github',
    });
    const redirect = (await agent.ask('github')).headers.get('location') ?? '';
    for (const address of [redirect, content.credentialUrl as string]) {
      const [head = '', claims = '', mac = ''] = new URL(address).searchParams.get('ticket')!.split('.');
      const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
      expect(read(head)).toEqual({ alg: 'HS256', typ: 'sv-ticket+jwt', kid: expect.any(String) });
      expect(read(claims)).toMatchObject({ op: 'credential', svc: 'github', sub: agent.id });
      expect(Buffer.from(mac, 'base64url')).toHaveLength(32);
    }
  },
);

test(
  'the webhook processes no request whose signature it has not verified',
  spec('The webhook must verify every signature before processing a request.'),
  async ({ fixture }) => {
    fixture.passed();
    await fixture.admin('GET', '/api/tokens/github');
    const signed = overheard(fixture);
    // Not read before it is verified: what is no JSON, or no operation, is refused for its signature.
    const { 'content-type': type = '' } = signed.headers;
    for (const path of SIGNED)
      for (const body of ['{}', 'no JSON', '{"op":"unknown"}']) {
        const unsigned = { headers: { 'content-type': type }, body };
        expect([path, body, await said(fixture, path, unsigned)]).toEqual([path, body, REFUSED]);
      }
    const changed = signed.body.replace('github', 'gitlab');
    const elsewhere = await said(fixture, '/v1/refresh-notify', signed);
    const again = await said(fixture, '/v1/storage', signed);
    expect([elsewhere, again, await said(fixture, '/v1/storage', { ...signed, body: changed })]).toEqual([
      REFUSED,
      REFUSED,
      REFUSED,
    ]);
  },
);

test(
  'revealing a key is audited and limited for each agent and proxy',
  spec('Key-reveal (an audited action) is limited per agent or proxy (see Limits).'),
  async ({ fixture }) => {
    const [agent, proxy] = [await fixture.agent(), await fixture.proxyTo()];
    const { log } = stepsOn(fixture.pair.controlPlaneUrl(), fixture.admin);
    for (const path of [`/api/agents/${agent.id}`, `/api/proxies/${proxy.id}`]) {
      const reveal = (): Promise<Answer> => fixture.admin('POST', `${path}/reveal-key`);
      for (let n = 0; n < 20; n++) expect((await reveal()).status).toBe(200);
      const { status, json } = await reveal();
      expect([status, json.code]).toEqual([429, 'RATE_LIMITED']);
    }
    const events = await log('&eventType=KEY_REVEALED');
    const of = (member: 'agentId' | 'proxyId', id: string) => events.filter((event) => event[member] === id);
    expect([of('agentId', agent.id).length, of('proxyId', proxy.id).length]).toEqual([20, 20]);
  },
);

test(
  'an admin signs in by browser through an identity provider',
  spec('Admin users: browser login through an identity provider.'),
  async () => {
    const provider = await startProvider();
    const service = await startService({
      SV_OIDC_ISSUER: provider.issuer,
      SV_OIDC_CLIENT_ID: CLIENT.id,
      SV_OIDC_CLIENT_SECRET: CLIENT.secret,
    });
    try {
      provider.people.set('a person', { email: 'owner@example.org', email_verified: true });
      provider.signsIn = 'a person';
      expect((await service.anyone('GET', '/api/me')).status).toBe(401);
      const browser = browserOn(service.running.url);
      await browser.get(pathOf(await provider.goThrough(await beginAt(browser))));
      const { json } = await browser.get('/api/me', { accept: 'application/json' });
      expect(json).toMatchObject({ role: 'admin', email: 'owner@example.org' });
    } finally {
      await service.stop();
      await provider.stop();
    }
  },
);
