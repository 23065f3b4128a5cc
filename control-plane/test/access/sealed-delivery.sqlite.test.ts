import { createSealingKey, openSealed } from '@svault/shared/sealed';
import type { SealingKey } from '@svault/shared/sealed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mcpClientOf } from '../support/mcp-steps.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { CREDENTIALS, type TestAgent } from '../support/service-steps.ts';

const SECRET = 'a-secret-that-only-the-agent-reads';

/** Agent, service and webhook, each for real; only who owns a key of the record can read what comes. */
describe('a credential that is sealed to an agent', () => {
  let service: PairedService;
  let agent: TestAgent;
  let agentsKey: SealingKey;
  let ownersKey: SealingKey;
  const seen: string[] = [];

  beforeAll(async () => {
    service = await startPairedService();
    agentsKey = createSealingKey();
    ownersKey = createSealingKey();
    agent = await service.agent('sealed');
    await tellThumbprint(agent, agentsKey.thumbprint);
    await service.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    const { json } = await service.admin('POST', '/api/tokens', {
      body: { serviceName: 'sealed', tokenType: 'PlainText' },
    });
    const { url, ticket } = json.store as { url: string; ticket: string };
    const stored = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        tokenType: 'PlainText',
        value: SECRET,
        delivery: 'sealed',
        recipients: [agentsKey.publicJwk, ownersKey.publicJwk],
      }),
    });
    expect(stored.status).toBe(200);
  });
  afterAll(() => service.stop());

  async function tellThumbprint(whose: TestAgent, sealingKeyThumbprint: string | null): Promise<void> {
    const path = `/api/agents/${whose.id}`;
    expect((await service.admin('PATCH', path, { body: { sealingKeyThumbprint } })).status).toBe(200);
  }

  /** Follows the 307 as agents do. */
  async function followed(whose: TestAgent): Promise<{ status: number; type: string; text: string }> {
    const response = await fetch(`${service.pair.controlPlaneUrl()}${CREDENTIALS}?service=sealed`, {
      headers: { authorization: `Bearer ${whose.apiKey}` },
    });
    return read(response);
  }

  async function read(response: Response): Promise<{ status: number; type: string; text: string }> {
    const text = await response.text();
    seen.push(text);
    return { status: response.status, type: response.headers.get('content-type') ?? '', text };
  }

  const refused = { status: 403, text: expect.stringContaining('DELIVERY_NOT_ALLOWED') };

  it('reaches the agent by the redirect, which opens it with its own key alone', async () => {
    const { status, type, text } = await followed(agent);
    expect([status, type]).toEqual([200, 'application/jose']);
    const { token } = (await openSealed(text, agentsKey)).reveal();
    expect(token).toMatchObject({ accessToken: SECRET, serviceName: 'sealed', tokenType: 'PlainText' });
    await expect(openSealed(text, ownersKey)).rejects.toMatchObject({ reason: 'other_key' });
    await expect(openSealed(text, createSealingKey())).rejects.toMatchObject({ reason: 'other_key' });
    const renamed = { ...createSealingKey(), thumbprint: agentsKey.thumbprint };
    await expect(openSealed(text, renamed)).rejects.toMatchObject({ reason: 'not_decryptable' });
  });

  it('reaches it by the address that get_credential gives', async () => {
    const { content } = await mcpClientOf(service, agent.apiKey).call2025('get_credential', {
      service: 'sealed',
    });
    const { text } = await read(await fetch(content.credentialUrl as string));
    expect((await openSealed(text, agentsKey)).reveal().token.accessToken).toBe(SECRET);
  });

  it('reaches no agent whose key is not among the recipients, or is not known', async () => {
    const other = await service.agent('sealed');
    expect(await followed(other)).toMatchObject(refused);
    await tellThumbprint(other, createSealingKey().thumbprint);
    expect(await followed(other)).toMatchObject(refused);
    // Named as somebody else, an agent gets what it cannot open.
    await tellThumbprint(other, agentsKey.thumbprint);
    const { text } = await followed(other);
    await expect(openSealed(text, createSealingKey())).rejects.toMatchObject({ reason: 'other_key' });
    await tellThumbprint(other, null);
    expect(await followed(other)).toMatchObject(refused);
  });

  it('reaches the owner by an admin’s ticket for a key among the recipients', async () => {
    const ticketFor = async (body: object): Promise<Response> => {
      const { json } = await service.admin('POST', '/api/tokens/sealed/credential-ticket', { body });
      return fetch(json.url as string);
    };
    const { text } = await read(await ticketFor({ jkt: ownersKey.thumbprint }));
    expect((await openSealed(text, ownersKey)).reveal().token.accessToken).toBe(SECRET);
    expect(await read(await ticketFor({}))).toMatchObject(refused);
    expect(await read(await ticketFor({ jkt: 'A'.repeat(43) }))).toMatchObject(refused);
  });

  it('was never to be read on the way', () => {
    expect(seen.length).toBeGreaterThan(8);
    expect(seen.join('\n')).not.toContain(SECRET);
  });
});
