import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { AuditEventType } from '../../src/core/audit-event.ts';
import { makeOwnerLink } from './beside-the-service.ts';
import { cookieBy, registerClient } from './consent-page.ts';
import type { LinkedService } from './linked-service.ts';
import { type Answer, type Call, signInBy } from './management-service.ts';
import {
  type ApprovedCode,
  type ClientSession,
  REDIRECT,
  approve,
  exchange,
  newAgent as newMcpAgent,
  postOauth,
  sessionIn,
} from './oauth-client.ts';
import { addMember } from './members.ts';
import { refreshableRecord } from './refreshable-record.ts';
import type { LoggedEvent, TestAgent } from './service-steps.ts';
import { uniqueName } from './unique-name.ts';

/** A control plane with one object of each kind. */
export interface World {
  readonly service: LinkedService;
  readonly admin: Call;
  readonly agent: TestAgent;
  readonly ownerId: string;
  post(path: string, body?: object): Promise<Answer>;
}

/** The request that causes an event. */
export interface Cause {
  /** Runs once before the request; the other functions get its result. */
  readonly before?: (world: World) => Promise<string>;
  readonly by: (world: World, of: string) => Promise<Answer>;
  /** The expected event, without its actor. */
  readonly says?: (world: World, of: string) => Partial<LoggedEvent>;
  /** All that it writes, oldest first; by default this event alone. */
  readonly events?: readonly AuditEventType[];
  /** By default the owner. */
  readonly actor?: 'agent' | 'service';
  /** A path whose response the request changes; undefined where it changes the log only. */
  readonly shows?: (world: World, of: string) => string;
  /** Undoes the request for the other causes. */
  readonly after?: (world: World) => Promise<unknown>;
  /** The event is written after the response, also where the request failed. */
  readonly later?: true;
}

/** Ships the pending events; the clock advances beyond the pause after a failure. */
export async function shipOnce({ clock, runJob }: LinkedService): Promise<void> {
  clock.advance(1_000);
  await runJob('audit shipping');
}

/** Has the webhook acknowledge an event. */
async function shipToWebhook({ service, post }: World): Promise<string> {
  await post('/api/agents', { name: uniqueName('shipped') });
  const seen = { webhook_id: service.webhook.webhookId };
  await vi.waitFor(
    async () => {
      await shipOnce(service);
      expect(await service.place.state.rows('SELECT webhook_id FROM webhook_log_heads')).toContainEqual(seen);
    },
    { timeout: 15_000 },
  );
  return '';
}

const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;
const containing = (members: object): Record<string, unknown> =>
  expect.objectContaining(members) as Record<string, unknown>;

const agentOf = (_: World, agentId: string): Partial<LoggedEvent> => ({ agentId });
const token = async ({ post }: World, serviceName: string): Promise<string> => {
  await post('/api/tokens', { serviceName, tokenType: 'PlainText' });
  return serviceName;
};
const newAgent = async ({ post }: World): Promise<string> =>
  (await post('/api/agents', { name: uniqueName('one of many') })).json.agent.id;
const newFolder = async ({ post }: World): Promise<string> =>
  (await post('/api/folders', { name: 'f' })).json.id;
const POLICY = { name: 'p', rules: [{ type: 'manual_approval' }] };
const newPolicy = async ({ post }: World): Promise<string> => (await post('/api/policies', POLICY)).json.id;
const PROXY = {
  upstreamUrl: 'https://mcp.example.com/',
  serviceName: 'github',
  allowMissing: true,
};
const newProxy = async ({ post }: World): Promise<string> =>
  (await post('/api/proxies', { ...PROXY, name: uniqueName('p') })).json.proxy.id;
const attachment = ({ agent }: World) => ({ targetType: 'agent', targetId: agent.id });
/** A code that the owner has approved. */
const approvedCode = async (world: World): Promise<ApprovedCode> => {
  const { service } = world;
  const cookie = await cookieBy(service, await makeOwnerLink(service));
  const clientId = await registerClient(service, [REDIRECT]);
  return approve({ service, cookie, clientId }, await newMcpAgent({ service }));
};
const AGENT = (_: World, id: string): string => `/api/agents/${id}`;
const GRANTS = (_: World, id: string): string => `/api/agents/${id}/grants`;
const TOKEN = (_: World, name: string): string => `/api/tokens/${name}`;
const POLICIES = (): string => '/api/policies?limit=100';
const PROXIES = (): string => '/api/proxies?limit=100';
const CLIENT = {
  name: 'mail',
  tokenUrl: 'https://id.example.org/token',
  authMethod: 'client_secret_basic',
  clientSecret: 'a client secret',
};
const newProvider = async ({ post }: World): Promise<string> =>
  (await post('/api/providers', { ...CLIENT, clientId: randomUUID() })).json.id;
const PROVIDERS = (): string => '/api/providers?limit=100';
const CHANNEL = { type: 'slack', name: 'on call', url: 'https://hooks.example.com/x' };
const newChannel = async ({ post }: World): Promise<string> =>
  (await post('/api/notifications', CHANNEL)).json.channel.id;
const CHANNELS = (): string => '/api/notifications?limit=100';
const FOLDERS = (): string => '/api/folders?limit=100';
const MEMBERS = (): string => '/api/members?limit=100';
const ADMIN_KEYS = (): string => '/api/admin-keys?limit=100';
const WEBHOOK = (): string => '/api/webhook';
const VAULT = (): string => '/api/vault';
const lock = ({ post }: World): Promise<Answer> => post('/api/vault/lock');
const unlock = ({ post }: World): Promise<Answer> => post('/api/vault/unlock');
const letAgentsAsk = ({ admin }: World, accessRequests = true): Promise<Answer> =>
  admin('PATCH', '/api/vault', { body: { accessRequests } });
const askForGrant = ({ service }: World, apiKey: string): Promise<Answer> =>
  service.anyone('POST', '/api/agents/access-requests', {
    body: { service: 'github' },
    headers: { authorization: `Bearer ${apiKey}` },
  });
/** The key of an agent that may ask. */
const asker = async (world: World): Promise<string> => {
  await letAgentsAsk(world);
  return (await world.post('/api/agents', { name: uniqueName('one that asks') })).json.apiKey;
};
const newApproval = async (world: World): Promise<string> =>
  (await askForGrant(world, await asker(world))).json.approval.id;
const APPROVAL = (_: World, id: string): string => `/api/approvals/${id}`;
const ofApproval = (_: World, approvalId: string): Partial<LoggedEvent> => ({
  serviceName: 'github',
  detail: containing({ approvalId, kind: 'access' }),
});
const unbind = ({ admin }: World): Promise<Answer> => admin('DELETE', '/api/webhook');

/** The route that causes each event type. They run in any order. */
export const CAUSES: Partial<Record<AuditEventType, Cause>> = {
  LOGIN: {
    before: ({ service }) => makeOwnerLink(service),
    by: ({ service }, link) => {
      const token = new URL(link).searchParams.get('token');
      return service.anyone('POST', '/api/login/link', { body: { token } });
    },
    says: () => ({ detail: { method: 'link', sessionId: matching(/^ses_/) } }),
    shows: () => '/api/sessions?limit=100',
  },
  AGENT_CREATED: {
    by: ({ post }) => post('/api/agents', { name: 'made' }),
    says: () => ({ agentId: matching(/^agt_/), detail: { name: 'made' } }),
    shows: () => '/api/agents?limit=100',
  },
  AGENT_UPDATED: {
    before: newAgent,
    by: ({ admin }, id) => admin('PATCH', `/api/agents/${id}`, { body: { name: 'changed' } }),
    says: (_, agentId) => ({ agentId, detail: { members: ['name'] } }),
    shows: AGENT,
  },
  AGENT_SUSPENDED: {
    before: newAgent,
    by: ({ post }, id) => post(`/api/agents/${id}/suspend`),
    says: agentOf,
    shows: AGENT,
  },
  AGENT_RESUMED: {
    before: async (world) => {
      const id = await newAgent(world);
      await world.post(`/api/agents/${id}/suspend`);
      return id;
    },
    by: ({ post }, id) => post(`/api/agents/${id}/resume`),
    says: agentOf,
    shows: AGENT,
  },
  AGENT_DELETED: {
    before: newAgent,
    by: ({ admin }, id) => admin('DELETE', `/api/agents/${id}`),
    says: (_, agentId) => ({ agentId, detail: { grants: 0 } }),
    shows: AGENT,
  },
  KEY_REVEALED: {
    before: newAgent,
    by: ({ post }, id) => post(`/api/agents/${id}/reveal-key`),
    says: agentOf,
  },
  KEY_ROTATED: {
    before: newAgent,
    by: ({ post }, id) => post(`/api/agents/${id}/rotate-key`),
    says: agentOf,
    shows: AGENT,
  },
  GRANT_CREATED: {
    before: newAgent,
    by: ({ post }, id) => post(`/api/agents/${id}/grants`, { allowMissing: true, serviceName: 'github' }),
    says: (_, agentId) => ({
      agentId,
      serviceName: 'github',
      detail: { grantId: matching(/^grt_/), grantExpiresAt: 'never', refreshPolicy: 'none' },
    }),
    shows: GRANTS,
  },
  GRANT_RENEWED: {
    before: async (world) => {
      const id = await newAgent(world);
      await world.post(`/api/agents/${id}/grants`, { allowMissing: true, serviceName: 'github' });
      return id;
    },
    by: ({ post }, id) =>
      post(`/api/agents/${id}/grants/github/renew`, { expiresInSeconds: 3_600, refreshPolicy: 'auto' }),
    says: (_, agentId) => ({
      agentId,
      serviceName: 'github',
      detail: { grantId: matching(/^grt_/), grantExpiresAt: matching(/Z$/), refreshPolicy: 'auto' },
    }),
    shows: GRANTS,
  },
  GRANT_REVOKED: {
    before: async (world) => {
      const id = await newAgent(world);
      await world.post(`/api/agents/${id}/grants`, { allowMissing: true, serviceName: 'github' });
      return id;
    },
    by: ({ admin }, id) => admin('DELETE', `/api/agents/${id}/grants/github`),
    says: (_, agentId) => ({ agentId, serviceName: 'github', detail: { grantId: matching(/^grt_/) } }),
    shows: GRANTS,
  },
  GRANT_EXPIRED: {
    events: ['GRANT_EXPIRED', 'AGENT_CREDENTIAL_ACCESS'],
    before: async ({ agent, post, service }) => {
      await post(`/api/agents/${agent.id}/grants`, {
        allowMissing: true,
        serviceName: 'hourly',
        expiresInSeconds: 3_600,
      });
      service.clock.advance(3_600_000);
      return agent.id;
    },
    actor: 'agent',
    by: ({ agent }) => agent.get('hourly'),
    says: ({ agent }) => ({ agentId: agent.id, serviceName: 'hourly', detail: { code: 'GRANT_EXPIRED' } }),
    shows: GRANTS,
  },
  AGENT_CREDENTIAL_ACCESS: {
    actor: 'agent',
    by: ({ agent }) => agent.get('github'),
    says: ({ agent }) => ({ agentId: agent.id, serviceName: 'github' }),
    shows: ({ agent }) => `/api/agents/${agent.id}`,
  },
  PROXY_CREDENTIAL_USE: {
    actor: 'agent',
    before: async ({ post }) => (await post('/api/proxies', { ...PROXY, name: uniqueName('p') })).json.key,
    by: ({ service }, key) =>
      service.anyone('POST', '/api/proxy/mcp', { body: {}, headers: { 'x-mcp-key': key } }),
    says: () => ({ proxyId: matching(/^prx_/), serviceName: 'github' }),
    shows: PROXIES,
  },
  OWNER_CREDENTIAL_ACCESS: {
    before: (world) => token(world, 'owners'),
    by: ({ post }) => post('/api/tokens/owners/credential-ticket'),
    says: () => ({ serviceName: 'owners' }),
  },
  TOKEN_CREATED: {
    events: ['TOKEN_CREATED', 'TOKEN_STORE_TICKET'],
    by: ({ post }) => post('/api/tokens', { serviceName: 'made', tokenType: 'JWT' }),
    says: () => ({ serviceName: 'made', detail: { tokenType: 'JWT' } }),
    shows: () => '/api/tokens?limit=100',
  },
  TOKEN_UPDATED: {
    before: (world) => token(world, 'updated'),
    by: ({ admin }) => admin('PATCH', '/api/tokens/updated', { body: { notes: 'n', tags: ['t'] } }),
    says: () => ({ serviceName: 'updated', detail: { members: ['notes', 'tags'] } }),
    shows: TOKEN,
  },
  TOKEN_STORE_TICKET: {
    before: (world) => token(world, 'filled'),
    by: ({ post }) => post('/api/tokens/filled/store-ticket', { ifv: 0 }),
    says: () => ({ serviceName: 'filled', detail: { replaces: 0 } }),
  },
  TOKEN_DELETED: {
    before: (world) => token(world, 'deleted'),
    by: ({ admin }) => admin('DELETE', '/api/tokens/deleted'),
    says: () => ({ serviceName: 'deleted', detail: { grants: 0, folders: 0 } }),
    shows: TOKEN,
  },
  TOKEN_REFRESHED: {
    before: async (world) => {
      // Later than an hour, within which the scheduler would refresh it.
      const record = refreshableRecord('refreshed', { expiryTime: '2030-01-01T00:00:00.000Z' });
      world.service.webhook.tokens.set('refreshed', record);
      return token(world, 'refreshed');
    },
    by: ({ post }) => post('/api/tokens/refreshed/refresh'),
    says: () => ({ serviceName: 'refreshed', detail: { outcome: 'refreshed', reason: 'manual' } }),
  },
  PROVIDER_CREATED: {
    by: ({ post }) => post('/api/providers', { ...CLIENT, clientId: 'made' }),
    says: () => ({ detail: { providerId: matching(/^prv_/), name: 'mail' } }),
    shows: PROVIDERS,
  },
  PROVIDER_UPDATED: {
    before: newProvider,
    by: ({ admin }, id) => admin('PATCH', `/api/providers/${id}`, { body: { name: 'changed' } }),
    says: (_, providerId) => ({ detail: { providerId, members: ['name'] } }),
    shows: PROVIDERS,
  },
  PROVIDER_DELETED: {
    before: newProvider,
    by: ({ admin }, id) => admin('DELETE', `/api/providers/${id}`),
    says: (_, providerId) => ({ detail: { providerId, name: 'mail' } }),
    shows: PROVIDERS,
  },
  NOTIFICATION_CREATED: {
    by: ({ post }) => post('/api/notifications', CHANNEL),
    says: () => ({
      detail: {
        channelId: matching(/^nch_/),
        ...{ name: 'on call', type: 'slack', target: 'https://hooks.example.com/…' },
      },
    }),
    shows: CHANNELS,
  },
  NOTIFICATION_DELETED: {
    before: newChannel,
    by: ({ admin }, id) => admin('DELETE', `/api/notifications/${id}`),
    says: (_, channelId) => ({ detail: { channelId, name: 'on call', type: 'slack' } }),
    shows: CHANNELS,
  },
  FOLDER_CREATED: {
    by: ({ post }) => post('/api/folders', { name: 'made', serviceNames: ['github'] }),
    says: () => ({ detail: { folderId: matching(/^fld_/), name: 'made', tokens: 1 } }),
    shows: FOLDERS,
  },
  FOLDER_UPDATED: {
    before: newFolder,
    by: ({ admin }, id) => admin('PATCH', `/api/folders/${id}`, { body: { serviceNames: ['github'] } }),
    says: (_, folderId) => ({ detail: { folderId, members: ['serviceNames'], tokens: 1 } }),
    shows: FOLDERS,
  },
  FOLDER_DELETED: {
    before: newFolder,
    by: ({ admin }, id) => admin('DELETE', `/api/folders/${id}`),
    says: (_, folderId) => ({ detail: { folderId, name: 'f' } }),
    shows: FOLDERS,
  },
  POLICY_CREATED: {
    by: ({ post }) => post('/api/policies', POLICY),
    says: () => ({ detail: containing({ policyId: matching(/^pol_/) }) }),
    shows: POLICIES,
  },
  POLICY_UPDATED: {
    before: newPolicy,
    by: ({ admin }, id) => admin('PATCH', `/api/policies/${id}`, { body: { enabled: false } }),
    says: (_, policyId) => ({ detail: containing({ policyId }) }),
    shows: POLICIES,
  },
  POLICY_ATTACHED: {
    before: newPolicy,
    by: (world, id) => world.post(`/api/policies/${id}/attachments`, attachment(world)),
    says: (_, policyId) => ({ detail: containing({ policyId }) }),
    shows: (_, id) => `/api/policies/${id}/attachments`,
  },
  POLICY_DETACHED: {
    before: async (world) => {
      const id = await newPolicy(world);
      await world.post(`/api/policies/${id}/attachments`, attachment(world));
      return id;
    },
    by: (world, id) => world.admin('DELETE', `/api/policies/${id}/attachments`, { body: attachment(world) }),
    says: (_, policyId) => ({ detail: containing({ policyId }) }),
    shows: (_, id) => `/api/policies/${id}/attachments`,
  },
  POLICY_DELETED: {
    before: newPolicy,
    by: ({ admin }, id) => admin('DELETE', `/api/policies/${id}`),
    says: (_, policyId) => ({ detail: containing({ policyId }) }),
    shows: POLICIES,
  },
  PROXY_CREATED: {
    by: ({ post }) => post('/api/proxies', { ...PROXY, name: uniqueName('p') }),
    says: () => ({
      proxyId: matching(/^prx_/),
      serviceName: 'github',
      detail: { name: matching(/^p/), upstreamAuthType: 'Token', upstream: 'https://mcp.example.com' },
    }),
    shows: PROXIES,
  },
  PROXY_UPDATED: {
    before: newProxy,
    by: ({ admin }, id) => admin('PATCH', `/api/proxies/${id}`, { body: { name: 'changed' } }),
    says: (_, proxyId) => ({ proxyId, detail: { members: ['name'] } }),
    shows: PROXIES,
  },
  PROXY_DELETED: {
    before: newProxy,
    by: ({ admin }, id) => admin('DELETE', `/api/proxies/${id}`),
    says: (_, proxyId) => ({ proxyId, serviceName: 'github', detail: { name: matching(/^p/) } }),
    shows: PROXIES,
  },
  KEY_REVOKED: {
    before: newProxy,
    by: ({ post }, id) => post(`/api/proxies/${id}/revoke`),
    says: (_, proxyId) => ({ proxyId, serviceName: 'github' }),
    shows: PROXIES,
  },
  MEMBER_CREATED: {
    events: ['MEMBER_CREATED', 'MEMBER_UPDATED'],
    by: ({ post }) => post('/api/members', { email: 'made@example.org', role: 'member' }),
    says: () => ({ detail: { memberId: matching(/^usr_/), role: 'member' } }),
    shows: MEMBERS,
  },
  MEMBER_UPDATED: {
    before: async ({ service }) => (await addMember(service, 'member')).id,
    by: ({ admin }, id) => admin('PATCH', `/api/members/${id}`, { body: { role: 'admin' } }),
    says: (_, memberId) => ({ detail: { memberId, role: 'admin' } }),
    shows: MEMBERS,
  },
  MEMBER_DELETED: {
    before: async ({ service }) => (await addMember(service, 'member')).id,
    by: ({ admin }, id) => admin('DELETE', `/api/members/${id}`),
    says: (_, memberId) => ({ detail: { memberId } }),
    shows: MEMBERS,
  },
  ADMIN_KEY_CREATED: {
    by: ({ post }) => post('/api/admin-keys', { name: 'made' }),
    says: () => ({ detail: { adminKeyId: matching(/^adk_/), name: 'made' } }),
    shows: ADMIN_KEYS,
  },
  ADMIN_KEY_DELETED: {
    before: async ({ post }) => (await post('/api/admin-keys', { name: 'gone' })).json.adminKey.id,
    by: ({ admin }, id) => admin('DELETE', `/api/admin-keys/${id}`),
    says: (_, adminKeyId) => ({ detail: { adminKeyId } }),
    shows: ADMIN_KEYS,
  },
  SESSION_REVOKED: {
    before: async ({ admin, service }) => {
      const { id, link } = await addMember(service, 'member');
      await signInBy(service, link);
      const { items } = (await admin('GET', '/api/sessions?limit=100')).json;
      return items.find(({ userId }: { userId: string }) => userId === id).id;
    },
    by: ({ admin }, id) => admin('DELETE', `/api/sessions/${id}`),
    says: (_, sessionId) => ({ detail: { sessionId, memberId: matching(/^usr_/) } }),
    shows: () => '/api/sessions?limit=100',
  },
  OAUTH_SESSION_CREATED: {
    before: async (world) => JSON.stringify(await approvedCode(world)),
    by: ({ service }, code) => exchange({ service }, JSON.parse(code) as ApprovedCode),
    says: (_, code) => {
      const { agentId, clientId } = JSON.parse(code) as ApprovedCode;
      const detail = { sessionId: matching(/^ses_/), clientId, client: 'a test client' };
      return { agentId, detail };
    },
    shows: () => '/api/sessions?limit=100',
  },
  OAUTH_SESSION_REVOKED: {
    actor: 'agent',
    before: async (world) => {
      const code = await approvedCode(world);
      return JSON.stringify(sessionIn(await exchange(world, code), code));
    },
    by: ({ service }, session) =>
      postOauth(service, 'revoke', { token: (JSON.parse(session) as ClientSession).refreshToken }),
    says: (_, session) => ({
      agentId: (JSON.parse(session) as ClientSession).agentId,
      detail: containing({ sessionId: matching(/^ses_/), memberId: matching(/^usr_/) }),
    }),
    shows: () => '/api/sessions?limit=100',
  },
  ACCOUNT_EXPORTED: { by: ({ admin }) => admin('GET', '/api/account/export') },
  ACCOUNT_UPDATED: {
    before: async (world) => (await letAgentsAsk(world, false)).text,
    by: (world) => letAgentsAsk(world),
    says: () => ({ detail: { accessRequests: true } }),
    shows: VAULT,
  },
  APPROVAL_REQUESTED: {
    actor: 'agent',
    before: asker,
    by: askForGrant,
    says: () => ({ serviceName: 'github', detail: containing({ kind: 'access' }) }),
    shows: () => '/api/approvals?limit=100',
  },
  APPROVAL_APPROVED: {
    before: newApproval,
    by: ({ post }, id) => post(`/api/approvals/${id}/approve`),
    events: ['APPROVAL_APPROVED', 'GRANT_CREATED'],
    says: ofApproval,
    shows: APPROVAL,
  },
  APPROVAL_DENIED: {
    before: newApproval,
    by: ({ post }, id) => post(`/api/approvals/${id}/deny`),
    says: ofApproval,
    shows: APPROVAL,
  },
  VAULT_LOCKED: { by: lock, shows: VAULT, after: unlock },
  VAULT_UNLOCKED: { before: async (world) => (await lock(world)).text, by: unlock, shows: VAULT },
  WEBHOOK_SECRET_ROTATED: {
    later: true,
    by: ({ post }) => post('/api/webhook/rotate-secret'),
    says: ({ service }) => ({ detail: containing({ webhookId: service.webhook.webhookId }) }),
  },
  WEBHOOK_LOG_CONTRADICTION: {
    events: ['AGENT_CREATED', 'WEBHOOK_LOG_CONTRADICTION'],
    later: true,
    actor: 'service',
    // A contradiction needs a former head.
    before: shipToWebhook,
    by: ({ service, post }) => {
      service.webhook.head = { epoch: 'another' };
      return post('/api/agents', { name: 'shipped' });
    },
    says: ({ service }) => ({
      outcome: 'error',
      detail: containing({ webhookId: service.webhook.webhookId, contradiction: 'EPOCH_CHANGED' }),
    }),
  },
  CHECKPOINT_REFUSED: {
    later: true,
    actor: 'service',
    before: shipToWebhook,
    by: async ({ service, admin }) => {
      const conflict = { error: 'refused', code: 'CHECKPOINT_CONFLICT', size: 1, hash: 'f'.repeat(64) };
      service.webhook.capabilities.push('audit-checkpoints');
      service.webhook.fault = (_path, body) =>
        body.includes('audit.checkpoint')
          ? { status: 200, body: JSON.stringify({ results: [conflict] }) }
          : undefined;
      const answer = await admin('GET', '/api/webhook');
      await service.runJob('audit checkpoints');
      return answer;
    },
    after: async ({ service: { webhook } }) => {
      webhook.fault = undefined;
      webhook.capabilities.pop();
    },
    says: ({ service: { webhook } }) => ({
      outcome: 'error',
      detail: containing({ webhookId: webhook.webhookId, reason: 'CHECKPOINT_CONFLICT', webhookSize: 1 }),
    }),
  },
  WEBHOOK_UNBOUND: {
    by: unbind,
    after: ({ service }) => service.bind(),
    says: ({ service }) => ({ detail: { webhookId: service.webhook.webhookId, url: service.webhook.url } }),
    shows: WEBHOOK,
  },
  WEBHOOK_BOUND: {
    before: async (world) => (await unbind(world)).text,
    by: ({ service }) => service.bind(),
    says: ({ service }) => ({ detail: containing({ webhookId: service.webhook.webhookId }) }),
    shows: WEBHOOK,
  },
};

/** Event types that no route causes. */
export const NEVER: Partial<Record<AuditEventType, readonly [method: string, path: string]>> = {
  ADMIN_KEY_UPDATED: ['PATCH', '/api/admin-keys/adk_AAAAAAAAAAAAAAAAAAAAAA'],
};
