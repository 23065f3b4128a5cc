import type { StoreTicket } from '@svault/compose/admin-client';
import { describe, expect } from 'vitest';
import { ERAS } from '../support/mcp-steps.ts';
import { putBypassingRecorder, take } from '../support/pair-agents.ts';
import { expectResult, expectToolError } from './mcp-answers.ts';
import { type McpAgent, type McpFixture, mcpTest } from './mcp-fixture.ts';

const HOUR_MS = 3_600_000;

interface Stored {
  readonly serviceName: string;
  /** What the webhook holds. */
  readonly secrets: readonly string[];
}

let made = 0;
/** A name that no play before used. */
const fresh = (name: string): string => `${name}-${++made}`;

/** A token with everything that may be said of one, and its secret at the webhook. */
async function storedJwt({ admin, pair }: McpFixture): Promise<Stored> {
  const serviceName = fresh('jwt');
  const [accessToken, refreshToken] = ['access', 'refresh'].map((kind) => `${kind}-${crypto.randomUUID()}`);
  const { json } = await admin('POST', '/api/tokens', {
    body: {
      serviceName,
      tokenType: 'JWT',
      displayName: 'The calendar',
      description: 'of the team',
      notes: 'kept for the owner',
      tags: ['work', 'daily'],
    },
  });
  const status = await putBypassingRecorder(pair, json.store as StoreTicket, {
    tokenType: 'JWT',
    accessToken,
    refreshToken,
    expiryTime: EXPIRY,
    provider: { tokenUrl: 'https://login.example/token', clientId: 'client' },
  });
  expect(status).toBe(200);
  return { serviceName, secrets: [accessToken!, refreshToken!] };
}
const EXPIRY = '2031-01-02T03:04:05.000Z';

/** Takes the webhook away for a while. */
async function withoutWebhook({ pair }: McpFixture, work: () => Promise<void>): Promise<void> {
  await pair.stop('webhook');
  try {
    await work();
  } finally {
    await pair.start('webhook');
  }
}

const all = async ({ mcp }: McpAgent, ...services: string[]): Promise<readonly string[]> => {
  const texts: string[] = [];
  for (const service of services)
    for (const tool of ['show_credential', 'get_credential', 'credential_history'])
      texts.push((await mcp.call(tool, { service })).text);
  for (const tool of ['list_credentials', 'whoami']) texts.push((await mcp.call(tool)).text);
  return texts;
};

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  // spec: list_credentials | none | {grants: [ {serviceName, grantExpiresAt, refreshPolicy, description, displayName, tags, tokenType, expiryTime, hasRefreshToken} ]}.
  test('list_credentials returns the grants with the metadata of their credentials', async ({ fixture }) => {
    const jwt = await storedJwt(fixture);
    const { mcp, ...agent } = await fixture.agent(jwt.serviceName);
    await fixture.grant(
      { ...agent },
      { serviceName: 'bare', expiresInSeconds: 3_600, refreshPolicy: 'auto' },
    );
    await fixture.grant({ ...agent }, { serviceName: 'lapsing', expiresInSeconds: 3_600 });
    const grants = async () => expectResult(await mcp.call('list_credentials')).structured.grants;
    const until = new Date(fixture.pair.clock.now() + HOUR_MS).toISOString();
    expect(await grants()).toHaveLength(3);
    expect(await grants()).toEqual(
      expect.arrayContaining([
        {
          serviceName: jwt.serviceName,
          grantExpiresAt: null,
          refreshPolicy: 'none',
          description: 'of the team',
          displayName: 'The calendar',
          tags: ['work', 'daily'],
          tokenType: 'JWT',
          expiryTime: EXPIRY,
          hasRefreshToken: true,
        },
        // A grant is made without a token.
        { serviceName: 'bare', grantExpiresAt: until, refreshPolicy: 'auto' },
      ]),
    );
    fixture.wait(HOUR_MS);
    expect(await grants()).toMatchObject([{ serviceName: jwt.serviceName }]);
    // It takes none, and is not changed by what is given anyway.
    expect(expectResult(await mcp.call('list_credentials', { service: 'bare' })).structured.grants).toEqual(
      await grants(),
    );
  });

  // spec: list_credentials | none |
  // spec: No credential material.
  test('list_credentials returns nothing secret', async ({ fixture }) => {
    const { serviceName, secrets } = await storedJwt(fixture);
    const { mcp } = await fixture.agent(serviceName);
    const { text } = await mcp.call('list_credentials');
    expect(text).toContain(serviceName);
    for (const secret of [...secrets, 'ticket=', 'kept for the owner']) expect(text).not.toContain(secret);
  });

  // spec: The list_credentials text result is a human-readable summary listing, per service, the expiry (or Never) and the refresh policy.
  test('the text of list_credentials names expiry and refresh policy of each service', async ({
    fixture,
  }) => {
    const { mcp, ...agent } = await fixture.agent('forever');
    await fixture.grant(
      { ...agent },
      { serviceName: 'hourly', expiresInSeconds: 3_600, refreshPolicy: 'auto' },
    );
    const until = new Date(fixture.pair.clock.now() + HOUR_MS).toISOString();
    const lines = expectResult(await mcp.call('list_credentials')).text.split('\n');
    const of = (name: string): string | undefined => lines.find((line) => line.includes(name));
    expect(of('forever')).toMatch(/Never.*none/);
    expect(of('hourly')).toMatch(new RegExp(`${until}.*auto`));
    expect(lines).toHaveLength(3);
  });

  // spec: get_credential | service (string, required) | A signed, short-lived, one-time credential URL pointing at the webhook's /v1/credential.
  test('get_credential returns a one-time URL of the webhook', async ({ fixture }) => {
    const { pair } = fixture;
    const { serviceName, secrets } = await storedJwt(fixture);
    const { mcp } = await fixture.agent(serviceName);
    const given = async () => {
      const { structured } = expectResult(await mcp.call('get_credential', { service: serviceName }));
      // The specification names no members.
      expect(structured).toEqual({
        serviceName,
        credentialUrl: expect.stringMatching(/^http:/) as string,
        expiresAt: expect.stringMatching(/Z$/) as string,
        method: 'GET',
      });
      return structured as { credentialUrl: string; expiresAt: string };
    };
    const { credentialUrl, expiresAt } = await given();
    expect(credentialUrl.startsWith(`${pair.webhookUrl}/v1/credential?`)).toBe(true);
    // Signed: not one letter of it can be another.
    const last = credentialUrl.endsWith('A') ? 'Q' : 'A';
    expect((await take(pair, credentialUrl.slice(0, -1) + last)).status).toBe(401);
    // One-time.
    expect((await take(pair, credentialUrl)).json.token.accessToken).toBe(secrets[0]);
    expect((await take(pair, credentialUrl)).status).toBe(401);
    // Short-lived.
    const lifetimeMs = Date.parse(expiresAt) - pair.clock.now();
    expect([lifetimeMs > 0, lifetimeMs <= 60_000]).toEqual([true, true]);
    const late = await given();
    fixture.wait(lifetimeMs + 31_000);
    expect((await take(pair, late.credentialUrl)).status).toBe(401);
  });

  // spec: The result carries no credential bytes.
  test('get_credential returns no byte of the credential', async ({ fixture }) => {
    const { serviceName, secrets } = await storedJwt(fixture);
    const agent = await fixture.agent(serviceName);
    // Whatever it asks, with a ticket used in between, nothing that the webhook holds is in an answer of this server.
    const answers = [...(await all(agent, serviceName))];
    expect((await agent.fetch(serviceName)).json.token.accessToken).toBe(secrets[0]);
    answers.push(...(await all(agent, serviceName)));
    for (const secret of secrets)
      for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, -4)])
        expect(answers.filter((text) => text.includes(form))).toEqual([]);
  });

  // spec: The get_credential text result is the access token, token type, scope and grant expiry when the service returns the credential itself. When a webhook is bound, get_credential returns the signed URL.
  test('the text of get_credential has the signed URL', async ({ fixture }) => {
    const { serviceName, secrets } = await storedJwt(fixture);
    const { mcp } = await fixture.agent(serviceName);
    const { text, structured } = expectResult(await mcp.call('get_credential', { service: serviceName }));
    // The service holds no credential that it could return itself (DIVERGENCES.md): it is always the signed URL.
    expect(text).toContain(structured.credentialUrl);
    expect(text).toContain(structured.expiresAt);
    for (const secret of secrets) expect(text).not.toContain(secret);
    // Asked while the webhook is away and known to be, too: the URL works when it is back.
    await withoutWebhook(fixture, async () => {
      await fixture.admin('GET', '/api/webhook');
      expectResult(await mcp.call('get_credential', { service: serviceName }));
    });
    await fixture.admin('GET', '/api/webhook');
  });

  // spec: whoami | none (inputSchema is an empty object) | {id, name, status, ownerId, grants: [ {serviceName, grantExpiresAt, refreshPolicy} ], policies: [ {name, ruleTypes: [string]} ]}.
  test('whoami returns the agent, its grants and the types of its policy rules', async ({ fixture }) => {
    const { mcp, ...agent } = await fixture.agent('github');
    await fixture.grant({ ...agent }, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    await fixture.policy(
      { type: 'max_usage', limit: 7 },
      { targetType: 'agent', targetId: agent.id },
      'seven',
    );
    const { json } = await fixture.admin('GET', `/api/agents/${agent.id}`);
    const { structured } = expectResult(await mcp.call('whoami'));
    const until = new Date(fixture.pair.clock.now() + HOUR_MS).toISOString();
    const byName = (a: { serviceName: string }, b: { serviceName: string }): number =>
      a.serviceName.localeCompare(b.serviceName);
    expect({ ...structured, grants: structured.grants.toSorted(byName) }).toEqual({
      id: agent.id,
      name: json.name,
      status: 'active',
      ownerId: json.ownerId,
      grants: [
        { serviceName: 'github', grantExpiresAt: null, refreshPolicy: 'none' },
        { serviceName: 'hourly', grantExpiresAt: until, refreshPolicy: 'none' },
      ],
      policies: [{ name: 'seven', ruleTypes: ['max_usage'] }],
    });
    const { tools } = (await mcp.send({ method: 'tools/list' })).json.result as {
      tools: readonly { name: string; inputSchema: { type: string; properties?: object } }[];
    };
    const { inputSchema } = tools.find(({ name }) => name === 'whoami')!;
    expect([inputSchema.type, inputSchema.properties ?? {}]).toEqual(['object', {}]);
  });

  // spec: It never returns the owner's e-mail or a policy's rule configuration.
  test('whoami returns neither the e-mail of the owner nor the settings of a rule', async ({ fixture }) => {
    const { mcp, id: targetId } = await fixture.agent('github');
    const settings = [
      { type: 'ip_allowlist', cidrs: ['203.0.113.64/28'] },
      { type: 'rate_limit', limit: 98_765, windowSeconds: 54_321 },
      { type: 'geo_restrict', mode: 'deny', countries: ['LI'] },
      {
        type: 'time_window',
        timezone: 'Pacific/Chatham',
        windows: [{ days: [1], start: '03:17', end: '04:19' }],
      },
    ];
    for (const [n, rule] of settings.entries())
      await fixture.policy(rule, { targetType: 'agent', targetId }, `policy ${n}`);
    const { email } = (await fixture.admin('GET', '/api/me')).json as { email: string };
    expect(email).toContain('@');
    const { text } = await mcp.call('whoami');
    for (const { type } of settings) expect(text).toContain(type);
    for (const hidden of [
      email,
      '@',
      '203.0.113',
      '98765',
      '54321',
      '"LI"',
      'deny',
      'Chatham',
      '03:17',
      '04:19',
    ])
      expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
  });

  // spec: show_credential | service (string, required) | {serviceName, grantExpiresAt, refreshPolicy, displayName, tokenType, hasRefreshToken} (metadata only).
  test('show_credential returns metadata alone, also under a lock and a policy', async ({ fixture }) => {
    const { serviceName, secrets } = await storedJwt(fixture);
    const { mcp, ...agent } = await fixture.agent(serviceName);
    await fixture.grant(
      { ...agent },
      { serviceName: 'bare', expiresInSeconds: 3_600, refreshPolicy: 'auto' },
    );
    const show = async (service: string) => expectResult(await mcp.call('show_credential', { service }));
    const shown = await show(serviceName);
    expect(shown.structured).toEqual({
      serviceName,
      grantExpiresAt: null,
      refreshPolicy: 'none',
      displayName: 'The calendar',
      tokenType: 'JWT',
      hasRefreshToken: true,
    });
    for (const secret of [...secrets, 'ticket=']) expect(JSON.stringify(shown)).not.toContain(secret);
    const until = new Date(fixture.pair.clock.now() + HOUR_MS).toISOString();
    expect((await show('bare')).structured).toEqual({
      serviceName: 'bare',
      grantExpiresAt: until,
      refreshPolicy: 'auto',
    });
    // Neither a policy nor the vault lock withholds metadata.
    await fixture.policy({ type: 'manual_approval' }, { targetType: 'agent', targetId: agent.id });
    await fixture.admin('POST', '/api/vault/lock');
    expect((await show(serviceName)).structured).toEqual(shown.structured);
    await fixture.admin('POST', '/api/vault/unlock');
  });

  // spec: An ungranted service gives the same ambiguous NO_GRANT error as get_credential.
  test('show_credential of a service without a grant says what get_credential says', async ({ fixture }) => {
    const { serviceName } = await storedJwt(fixture);
    const [agent, other] = await fixture.agents(2);
    await fixture.grant(other!, { serviceName: 'elsewhere' });
    const texts: string[] = [];
    for (const tool of ['show_credential', 'get_credential'])
      for (const service of [serviceName, 'elsewhere', 'unheard-of']) {
        const answer = await agent!.mcp.call(tool, { service });
        expectToolError(answer, 'NO_GRANT');
        texts.push(answer.text);
      }
    expect(new Set(texts).size).toBe(1);
  });

  // spec: description, displayName, tags | Metadata owned by the service.
  test('description, display name and tags of an entry are those of the control plane', async ({
    fixture,
  }) => {
    const serviceName = fresh('described');
    const { mcp } = await fixture.agent(serviceName);
    const entry = async () => expectResult(await mcp.call('list_credentials')).structured.grants[0];
    const bare = { serviceName, grantExpiresAt: null, refreshPolicy: 'none' };
    expect(await entry()).toEqual(bare);
    const said = { displayName: 'D', description: 'what it is for', tags: ['a', 'b'] };
    await fixture.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'PlainText', ...said } });
    // Known without the webhook, which holds nothing of it.
    expect(await entry()).toEqual({ ...bare, ...said });
    const changed = { displayName: 'E', tags: [] };
    await fixture.admin('PATCH', `/api/tokens/${serviceName}`, { body: changed });
    expect(await entry()).toEqual({ ...bare, ...said, ...changed });
  });

  // spec: tokenType, expiryTime, hasRefreshToken | Taken best-effort from the webhook's own list response.
  test('type, expiry and refresh token of an entry are those of the webhook', async ({ fixture }) => {
    const serviceName = fresh('its-own');
    const { mcp } = await fixture.agent(serviceName);
    const body = { serviceName, tokenType: 'JWT' };
    const { store } = (await fixture.admin('POST', '/api/tokens', { body })).json as { store: StoreTicket };
    const entry = async () => expectResult(await mcp.call('list_credentials')).structured.grants[0];
    // Not from what the owner wrote down here.
    for (const member of ['tokenType', 'expiryTime', 'hasRefreshToken'])
      expect(await entry()).not.toHaveProperty(member);
    const held = { tokenType: 'JWT', accessToken: 'a', expiryTime: EXPIRY };
    expect(await putBypassingRecorder(fixture.pair, store, held)).toBe(200);
    expect(await entry()).toMatchObject({ tokenType: 'JWT', expiryTime: EXPIRY, hasRefreshToken: false });
  });

  // spec: If the webhook lookup fails, they are silently omitted.
  test('an entry leaves out what an offline webhook would say', async ({ fixture }) => {
    const { serviceName } = await storedJwt(fixture);
    const { mcp } = await fixture.agent(serviceName);
    const entry = async () => expectResult(await mcp.call('list_credentials')).structured.grants[0];
    const known = {
      serviceName,
      grantExpiresAt: null,
      refreshPolicy: 'none',
      description: 'of the team',
      displayName: 'The calendar',
      tags: ['work', 'daily'],
    };
    await withoutWebhook(fixture, async () => {
      expect(await entry()).toEqual(known);
      expect(expectResult(await mcp.call('show_credential', { service: serviceName })).structured).toEqual({
        serviceName,
        grantExpiresAt: null,
        refreshPolicy: 'none',
        displayName: 'The calendar',
      });
    });
    await fixture.admin('GET', '/api/webhook');
    expect(await entry()).toMatchObject({ ...known, tokenType: 'JWT' });
  });
});
