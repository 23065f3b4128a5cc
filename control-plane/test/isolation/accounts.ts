import { type Id, ManualClock, newId, newKey, randomToken } from '@svault/shared';
import { type FaultyWebhook, startFaultyWebhook } from '../support/faulty-webhook.ts';
import {
  type Answer,
  type Call,
  type ManagementService,
  clientOf,
  makePlace,
  serveOn,
} from '../support/management-service.ts';
import { registerClient } from '../support/consent-page.ts';
import { type ClientSession, REDIRECT, connect } from '../support/oauth-client.ts';
import { makeOwnerLink } from '../support/beside-the-service.ts';
import type { RequestFields } from './document.ts';

/** What a place of a request may name, beside a list's cursor. */
export type Kind =
  | 'agent'
  | 'agentWithGrants'
  | 'agentAsAttachment'
  | 'agentInList'
  | 'grantedService'
  | 'token'
  | 'tokenInList'
  | 'session'
  | 'oauthSession'
  | 'adminKey'
  | 'webhookUrl'
  | 'folder'
  | 'policy'
  | 'policyWithAttachments'
  | 'attachedAgent'
  | 'proxy'
  | 'member'
  | 'email'
  | 'provider'
  | 'channel'
  | 'approval'
  | 'cliRequest';

/** Texts of an account that can be recognised wherever they turn up. */
export const CANARY = 'canary-';
const canary = (): string => CANARY + randomToken(12);
/** A name that requests of both accounts may say. */
const name = (): string => `name-${randomToken(12)}`;

export const CODE_CHALLENGE = 'A'.repeat(43);

/** One of the accounts on the service, with its owner's admin key. */
export interface Account {
  readonly email: string;
  readonly call: Call;
  readonly webhook: FaultyWebhook;
  /** Signs its owner in. @returns `svault=…` */
  signIn(): Promise<string>;
  /** Lets a new client act for an agent. @param agentId with MCP on */
  connect(agentId: string): Promise<ClientSession>;
  /** Makes a new thing of the account and gives what names it; `said` is what the request says already. */
  make(kind: Kind, said?: RequestFields): Promise<string>;
}

export interface TwoAccounts {
  readonly service: ManagementService;
  readonly owner: Account;
  readonly stranger: Account;
  /** A webhook that no account ever had. */
  readonly unboundWebhook: FaultyWebhook;
  stop(): Promise<void>;
}

/** Two accounts on one service, each with a webhook: the place is served once for each, so that both are made. */
export async function twoAccounts(
  more: Readonly<Record<string, string>> = {},
  options?: Parameters<typeof serveOn>[2],
): Promise<TwoAccounts> {
  const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8', ...more });
  const first = await serveOn(place, clock);
  await first.running.close();
  const env = {
    ...place.env,
    SV_BOOTSTRAP_EMAIL: 'stranger@example.org',
    SV_BOOTSTRAP_ADMIN_KEY: newKey('svadmin'),
  };
  const service = await serveOn({ ...place, env }, clock, options);
  const [owner, stranger] = [
    await openAccount(service, place.env, clock),
    await openAccount(service, env, clock),
  ];
  const unboundWebhook = await startFaultyWebhook(clock);
  return {
    service,
    owner,
    stranger,
    unboundWebhook,
    stop: async () => {
      for (const webhook of [owner.webhook, stranger.webhook, unboundWebhook]) await webhook.shut();
      await service.stop();
    },
  };
}

async function openAccount(
  service: ManagementService,
  env: Readonly<Record<string, string>>,
  clock: ManualClock,
): Promise<Account> {
  const { running, anyone } = service;
  const { SV_BOOTSTRAP_EMAIL: email = '', SV_BOOTSTRAP_ADMIN_KEY: key = '' } = env;
  const call = clientOf(running.url, { authorization: `Bearer ${key}` });
  const webhook = await startFaultyWebhook(clock);
  webhook.capabilities.push('proxy', 'http-proxy');
  const post = async (path: string, body?: object): Promise<Answer['json']> => {
    const answer = await call('POST', path, { body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  /** Sessions of one time are listed in the order of their random ids, so each is known by its client. */
  const sessionOf = async (client: string): Promise<string> => {
    const { items } = (await call('GET', '/api/sessions?limit=100')).json;
    return items.find((session: { client: string }) => session.client === client).id as string;
  };

  /** @param client what the browser calls itself */
  const signIn = async (client: string): Promise<string> => {
    const link = await makeOwnerLink({ clock, place: { ...service.place, env } });
    const token = new URL(link).searchParams.get('token');
    const headers = { 'user-agent': client };
    const answer = await anyone('POST', '/api/login/link', { body: { token }, headers });
    return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  const connectAs = async (agentId: string, clientName: string): Promise<ClientSession> => {
    const clientId = await registerClient(service, [REDIRECT], clientName);
    return connect({ service, cookie: await signIn('a browser'), clientId }, agentId);
  };
  const make: Readonly<Record<Kind, (said: RequestFields) => Promise<string>>> = {
    agent: async () => (await post('/api/agents', { name: canary(), description: canary() })).agent.id,
    agentWithGrants: async () => {
      const id = await make.agent({});
      for (let n = 0; n < 2; n++) await make.grantedService({ 'path.id': id });
      return id;
    },
    grantedService: async (said) => {
      const serviceName = name();
      await post(`/api/agents/${said['path.id'] as string}/grants`, { allowMissing: true, serviceName });
      return serviceName;
    },
    agentAsAttachment: () => make.agent({}),
    agentInList: () => make.agent({}),
    tokenInList: () => make.token({}),
    token: async () => {
      const serviceName = name();
      const texts = { displayName: canary(), description: canary(), notes: canary(), tags: [canary()] };
      await post('/api/tokens', { serviceName, tokenType: 'PlainText', ...texts });
      return serviceName;
    },
    session: async () => {
      const client = canary();
      await signIn(client);
      return sessionOf(client);
    },
    oauthSession: async () => {
      const { agent } = await post('/api/agents', { name: canary(), mcpEnabled: true });
      const client = canary();
      await connectAs(agent.id, client);
      return sessionOf(client);
    },
    adminKey: async () => (await post('/api/admin-keys', { name: canary() })).adminKey.id,
    webhookUrl: () => Promise.resolve(webhook.url),
    folder: async () => (await post('/api/folders', { name: canary(), serviceNames: [] })).id,
    policy: async () =>
      (await post('/api/policies', { name: canary(), enabled: true, rules: [{ type: 'manual_approval' }] }))
        .id,
    policyWithAttachments: async () => {
      const id = await make.policy({});
      for (let n = 0; n < 2; n++) await make.attachedAgent({ 'path.id': id });
      return id;
    },
    attachedAgent: async (said) => {
      const targetId = await make.agent({});
      await post(`/api/policies/${said['path.id'] as string}/attachments`, { targetType: 'agent', targetId });
      return targetId;
    },
    proxy: async () => {
      const upstreamUrl = `https://${canary().toLowerCase()}.example.com/`;
      const texts = { serviceName: canary(), allowMissing: true, headerTemplates: { 'x-tenant': canary() } };
      return (await post('/api/proxies', { name: canary(), upstreamUrl, ...texts })).proxy.id;
    },
    member: async () => {
      const address = `${canary()}@example.org`.toLowerCase();
      return (await post('/api/members', { email: address, role: 'member' })).member.id;
    },
    email: async () => {
      const address = `${name()}@example.org`.toLowerCase();
      await post('/api/members', { email: address, role: 'member' });
      return address;
    },
    provider: async () => {
      const client = { tokenUrl: `https://${name()}.example.org/token`.toLowerCase(), clientId: canary() };
      const secret = { authMethod: 'client_secret_basic', clientSecret: canary() };
      return (await post('/api/providers', { name: canary(), ...client, ...secret })).id;
    },
    approval: async () => {
      await call('PATCH', '/api/vault', { body: { accessRequests: true } });
      const { apiKey } = await post('/api/agents', { name: canary() });
      const agent = clientOf(running.url, { authorization: `Bearer ${apiKey}` });
      const body = { service: await make.token({}), reason: canary() };
      const { json } = await agent('POST', '/api/agents/access-requests', { body });
      return json.approval.id as string;
    },
    channel: async () => {
      // Refused before any connection.
      const url = `https://10.0.0.1/${canary()}`;
      return (await post('/api/notifications', { type: 'webhook', name: canary(), url })).channel.id;
    },
    cliRequest: async () => (await post('/api/cli/login/begin', { codeChallenge: CODE_CHALLENGE })).requestId,
  };
  await post('/api/webhook/bind', webhook.offer());
  // As one that the webhook cosigned.
  await service.place.state.run(
    `INSERT INTO audit_checkpoints (vault_id, webhook_id, size, note, webhook_key, signed_at)
     SELECT vault_id, webhook_id, 1, 'note ${canary()}', 'key ${canary()}', bound_at FROM webhook_links
     WHERE webhook_id = '${webhook.webhookId}'`,
  );
  return {
    email,
    call,
    webhook,
    signIn: () => signIn('a browser'),
    connect: (agentId) => connectAs(agentId, canary()),
    make: async (kind, said = {}) => make[kind](said),
  };
}

/** The same form and length, but nothing of that name ever existed. */
export function neverExisted(like: string): string {
  const [, prefix = '', random = '', end = ''] = /^([a-z]{3}_|name-)([\w-]+)(.*)$/.exec(like) ?? [];
  if (prefix === 'name-') return prefix + other(random) + end;
  if (prefix !== '') return newId(prefix.slice(0, -1) as 'agt') satisfies Id<'agt'>;
  throw new Error(`what would a ${like} look like that never existed?`);
}

const other = (random: string): string => {
  const made = randomToken(random.length).slice(0, random.length);
  return random === random.toLowerCase() ? made.toLowerCase() : made;
};
