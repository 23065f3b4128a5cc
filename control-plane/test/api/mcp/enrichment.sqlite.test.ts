import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { ServeOptions } from '../../../src/serve.ts';
import { type LinkedService, startLinkedService } from '../../support/linked-service.ts';
import { ERAS, type McpClient, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';

// What the webhook adds to a list is welcome and never waited for: one batch, and silence where it does not come.

interface Served {
  readonly service: LinkedService;
  readonly client: McpClient;
  readonly agentId: string;
}
let service: LinkedService;
let client: McpClient;
let agentId: string;
/** Waits for the webhook, however slow the machine is. */
let patient: Served;

async function served(timeouts?: ServeOptions['timeouts']): Promise<Served> {
  const linked = await startLinkedService({}, { ...(timeouts && { timeouts }) });
  await linked.bind();
  await linked.admin('POST', '/api/tokens', {
    body: { serviceName: 'github', tokenType: 'PlainText', displayName: 'GitHub' },
  });
  const { id, apiKey } = await mcpAgentOn(linked, 'github');
  return { service: linked, client: mcpClientOf(linked, apiKey), agentId: id };
}

beforeAll(async () => {
  ({ service, client, agentId } = await served({}));
  patient = await served();
});
afterAll(async () => {
  await service.stop();
  await patient.service.stop();
});
beforeEach(() => {
  service.webhook.fault = undefined;
});

/** How many `/v1/storage` calls ask for records, told apart from the log's by what they are asked. */
function countLookUps(): { readonly paths: string[] } {
  const paths: string[] = [];
  service.webhook.fault = (path) => {
    paths.push(path);
    return undefined;
  };
  return { paths };
}

const record = {
  serviceName: 'github',
  tokenType: 'TOTP',
  createdAt: '2026-11-20T12:00:00.000Z',
  updatedAt: '2026-11-20T12:00:00.000Z',
  hasRefreshToken: true,
  version: 1,
  delivery: 'any',
  allowedHosts: [],
  allowedHeaders: [],
  empty: false,
  accessToken: 'canary',
};
const answers = (body: unknown, status = 200) => ({ status, body: JSON.stringify(body) });
const OWN = { serviceName: 'github', grantExpiresAt: null, refreshPolicy: 'none' };
const OURS = { description: '', displayName: 'GitHub', tags: [] };

// spec: tokenType, expiryTime, hasRefreshToken | Taken best-effort from the webhook's own list response.
it.each(ERAS)(
  'takes what the webhook tells, and nothing that it has no business to tell (%s)',
  async (era) => {
    patient.service.webhook.fault = () => answers({ results: [record] });
    const { content, answer } = await patient.client.call(era, 'list_credentials');
    expect(content.grants).toEqual([{ ...OWN, ...OURS, tokenType: 'TOTP', hasRefreshToken: true }]);
    expect(answer.text).not.toContain('canary');
    expect((await patient.client.call(era, 'show_credential', { service: 'github' })).content).toEqual({
      ...OWN,
      displayName: 'GitHub',
      tokenType: 'TOTP',
      hasRefreshToken: true,
    });
  },
);

// spec: If the webhook lookup fails, they are silently omitted.
it.each([
  ['refuses', () => answers({ error: 'no', code: 'SIGNATURE_INVALID' }, 401)],
  ['fails', () => answers({}, 500)],
  ['answers with nonsense', () => ({ status: 200, body: 'x' })],
  ['answers with records of others', () => answers({ results: [{ ...record, serviceName: 'npm' }] })],
  ['answers with half a record', () => answers({ results: [{ serviceName: 'github', tokenType: 'TOTP' }] })],
  ['never answers', () => 'hang' as const],
  ['breaks off', () => 'break' as const],
])('is silent about it where the webhook %s', async (_name, fault) => {
  service.webhook.fault = fault;
  const { content } = await client.call2026('list_credentials');
  expect(content.grants).toEqual([{ ...OWN, ...OURS }]);
  const shown = await client.call2025('show_credential', { service: 'github' });
  expect(shown.content).toEqual({ ...OWN, displayName: 'GitHub' });
  // The next case begins with a webhook that nobody has found to be away.
  service.webhook.fault = undefined;
  await service.admin('GET', '/api/webhook');
});

it('does not take a webhook that is slow for one that is away', async () => {
  let letGo: () => void = () => undefined;
  const held = new Promise<undefined>((resolve) => (letGo = () => resolve(undefined)));
  service.webhook.fault = () => held;
  expect((await client.call2025('list_credentials')).content.grants).toEqual([{ ...OWN, ...OURS }]);
  const { status } = await service.anyone('GET', '/api/agents/credentials?service=github', {
    headers: { authorization: `Bearer ${await keyOf()}` },
  });
  expect(status).toBe(307);
  letGo();
});

const keyOf = async (): Promise<string> =>
  ((await service.admin('POST', `/api/agents/${agentId}/reveal-key`)).json as { apiKey: string }).apiKey;

it('asks once, for the first hundred', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  const { id, apiKey } = await mcpAgentOn(service);
  for (const serviceName of names)
    await service.admin('POST', `/api/agents/${id}/grants`, { body: { allowMissing: true, serviceName } });
  const { paths } = countLookUps();
  const { content } = await mcpClientOf(service, apiKey).call2026('list_credentials');
  expect(content.grants.map(({ serviceName }: { serviceName: string }) => serviceName)).toEqual(names);
  await vi.waitFor(() => expect(paths.filter((path) => path === '/v1/storage')).toHaveLength(1), {
    timeout: 20_000,
  });
});

it('asks nobody where there are no grants, and for whoami', async () => {
  const { paths } = countLookUps();
  const { apiKey } = await mcpAgentOn(service);
  const empty = mcpClientOf(service, apiKey);
  expect((await empty.call2025('list_credentials')).text).toContain('no active grants');
  await client.call2025('whoami');
  expect(paths).toEqual([]);
});
