import { randomUUID } from 'node:crypto';
import { type Account, CODE_CHALLENGE, type Kind } from './accounts.ts';
import type { RequestFields } from './document.ts';

/** How one operation is asked about things of another account. */
export interface Probe {
  /** Places that name a thing, each asked with another account's and with one that never existed. */
  readonly names?: Readonly<Record<string, Kind | 'cursor'>>;
  /** What else a request says, so that with things of one's own it succeeds. */
  readonly says?: RequestFields | ((account: Account) => RequestFields);
  /** Places that name nothing and are left out. */
  readonly silent?: readonly string[];
  /** Sent in place of a thing of one's own, where one that exists would be in the way. */
  readonly ownInstead?: Readonly<Record<string, () => string>>;
  /** Before each request. */
  readonly prepare?: (account: Account) => Promise<unknown>;
  /** After each request. */
  readonly restore?: (account: Account, said: RequestFields) => Promise<unknown>;
  /**
   * The name is one in an account's own namespace, so that it may be used whatever others use: the answers are equal
   * but for the name itself and for what is made anew each time.
   */
  readonly ownNamespace?: true;
  /** Where it is not asked with things of one's own: why not. */
  readonly notAsked?: string;
}

const PAGE = { names: { 'query.cursor': 'cursor' }, silent: ['query.limit'] } as const;
const LOG = {
  names: {
    'query.agentId': 'agent',
    'query.serviceName': 'token',
    'query.proxyId': 'proxy',
    'query.userId': 'member',
  },
  silent: [
    ...['query.eventType', 'query.outcome', 'query.from', 'query.to'],
    ...['query.channel', 'query.address', 'query.requestId'],
  ],
} as const;
/** Every name that accounts of the tests have contains it. */
const SEARCH = { says: { 'query.name': '-' } } as const;
const AGENT = { names: { 'path.id': 'agent' } } as const;
const TOKEN = { names: { 'path.serviceName': 'token' } } as const;
const FOLDER = { names: { 'path.id': 'folder' } } as const;
const POLICY = { names: { 'path.id': 'policy' } } as const;
const PROXY = { names: { 'path.id': 'proxy' } } as const;
const PROVIDER = { names: { 'path.id': 'provider' } } as const;
const NOTIFICATION = { names: { 'path.id': 'channel' } } as const;
const APPROVAL = { names: { 'path.id': 'approval' } } as const;
const MEMBER = { names: { 'path.id': 'member' } } as const;
const RULES = [{ type: 'max_usage', limit: 5 }];
const NOTHING = {} as const;
const CLIENT = {
  'body.name': 'n',
  'body.tokenUrl': 'https://id.example.org/token',
  'body.authMethod': 'client_secret_basic',
  'body.clientSecret': 'a client secret',
} as const;

const unbind = ({ call }: Account): Promise<unknown> => call('DELETE', '/api/webhook');
const bindOwn = async ({ call, webhook }: Account): Promise<unknown> =>
  call('POST', '/api/webhook/bind', { body: webhook.offer() });

/** By operationId. Several probes of one operation are several ways to say what it takes. */
export const PROBES: Readonly<Record<string, Probe | readonly Probe[]>> = {
  getOpenApi: NOTHING,
  getMe: NOTHING,
  getVault: NOTHING,
  updateVault: { says: { 'body.accessRequests': true } },
  lockVault: { restore: ({ call }) => call('POST', '/api/vault/unlock') },
  unlockVault: NOTHING,
  logout: NOTHING,

  createAgent: {
    says: { 'body.name': 'n' },
    silent: ['body.description', 'body.mcpEnabled', 'body.sealingKeyThumbprint'],
  },
  listAgents: [{ names: PAGE.names, silent: ['query.limit', 'query.status'] }, SEARCH],
  getAgent: AGENT,
  updateAgent: {
    ...AGENT,
    says: { 'body.name': 'taken' },
    silent: ['body.description', 'body.mcpEnabled', 'body.sealingKeyThumbprint'],
  },
  deleteAgent: AGENT,
  suspendAgent: AGENT,
  resumeAgent: AGENT,
  revealAgentKey: AGENT,
  rotateAgentKey: AGENT,

  listGrants: { names: { 'path.id': 'agentWithGrants', 'query.cursor': 'cursor' }, silent: ['query.limit'] },
  createGrant: [
    {
      names: { 'path.id': 'agent', 'body.serviceName': 'token' },
      silent: ['body.expiresInSeconds', 'body.grantExpiresAt', 'body.refreshPolicy'],
      ownNamespace: true,
    },
    {
      names: { 'path.id': 'agent', 'body.serviceName': 'token' },
      says: { 'body.allowMissing': true },
      ownNamespace: true,
    },
    { names: { 'path.id': 'agent', 'body.folderId': 'folder' } },
  ],
  renewGrant: {
    names: { 'path.id': 'agent', 'path.serviceName': 'grantedService' },
    says: { 'body.expiresInSeconds': 3_600 },
    silent: ['body.grantExpiresAt', 'body.refreshPolicy'],
  },
  revokeGrant: { names: { 'path.id': 'agent', 'path.serviceName': 'grantedService' } },

  createToken: {
    names: { 'body.serviceName': 'token' },
    says: { 'body.tokenType': 'PlainText' },
    silent: ['body.displayName', 'body.description', 'body.notes', 'body.tags', 'body.approval'],
    ownNamespace: true,
    ownInstead: { 'body.serviceName': () => `name-${randomUUID()}` },
    // Or a cursor of their list would lead to a token of that name in one's own.
    restore: ({ call }, said) => call('DELETE', `/api/tokens/${said['body.serviceName'] as string}`),
  },
  listTokens: [
    PAGE,
    { names: { 'query.name': 'token' } },
    { names: { 'query.folderId': 'folder' }, silent: ['query.tokenType'] },
  ],
  getToken: TOKEN,
  updateToken: {
    ...TOKEN,
    says: { 'body.notes': 'taken' },
    silent: ['body.displayName', 'body.description', 'body.tags'],
  },
  deleteToken: TOKEN,
  // A cursor of a log is a position in one's own.
  listTokenHistory: { ...TOKEN, silent: ['query.limit', 'query.cursor'] },
  refreshToken: TOKEN,
  createStoreTicket: { ...TOKEN, silent: ['body.ifv', 'body.approval'] },
  createCredentialTicket: { ...TOKEN, silent: ['body.approval', 'body.jkt'] },

  getWebhook: NOTHING,
  bindWebhook: {
    names: { 'body.webhookUrl': 'webhookUrl' },
    says: ({ webhook }) => {
      const { code, hmacHash } = webhook.offer();
      return { 'body.code': code, 'body.hmacHash': hmacHash };
    },
    prepare: unbind,
    restore: bindOwn,
  },
  unbindWebhook: { restore: bindOwn },
  rotateWebhookSecret: NOTHING,

  listAuditEvents: {
    ...LOG,
    // A cursor of this list is a position in one's own log.
    silent: [...LOG.silent, 'query.limit', 'query.cursor', 'query.delivery'],
  },
  exportAuditLog: [
    { ...LOG, silent: [...LOG.silent, 'query.format'] },
    { says: { 'query.order': 'asc', 'query.after': 0 } },
  ],
  verifyAuditLog: NOTHING,
  getAuditCheckpoint: NOTHING,
  getAuditEvent: { says: { 'path.seq': 1 }, silent: ['query.delivery'] },
  // A number is a position in one's own log.
  streamAuditEvents: { says: { 'query.after': 0 } },

  listSessions: [PAGE, { names: { 'query.agentId': 'agent' } }],
  endSession: [{ names: { 'path.id': 'session' } }, { names: { 'path.id': 'oauthSession' } }],
  createAdminKey: { says: { 'body.name': 'n' } },
  listAdminKeys: PAGE,
  deleteAdminKey: { names: { 'path.id': 'adminKey' } },

  createFolder: {
    names: { 'body.serviceNames': 'tokenInList' },
    says: { 'body.name': 'n' },
  },
  listFolders: [PAGE, SEARCH],
  getFolder: FOLDER,
  updateFolder: {
    names: { 'path.id': 'folder', 'body.serviceNames': 'tokenInList' },
    says: { 'body.name': 'taken' },
  },
  deleteFolder: FOLDER,

  createPolicy: { says: { 'body.name': 'n', 'body.rules': RULES }, silent: ['body.enabled'] },
  listPolicies: [
    PAGE,
    SEARCH,
    { names: { 'query.targetId': 'agent' }, says: { 'query.targetType': 'agent' } },
    { names: { 'query.targetId': 'token' }, says: { 'query.targetType': 'token' } },
    { names: { 'query.targetId': 'proxy' }, says: { 'query.targetType': 'proxy' } },
  ],
  getPolicy: POLICY,
  updatePolicy: { ...POLICY, says: { 'body.name': 'taken', 'body.rules': RULES }, silent: ['body.enabled'] },
  deletePolicy: POLICY,
  listPolicyAttachments: {
    names: { 'path.id': 'policyWithAttachments', 'query.cursor': 'cursor' },
    silent: ['query.limit'],
  },
  attachPolicy: [
    { names: { 'path.id': 'policy', 'body.targetId': 'agent' }, says: { 'body.targetType': 'agent' } },
    { names: { 'path.id': 'policy', 'body.targetId': 'token' }, says: { 'body.targetType': 'token' } },
    { names: { 'path.id': 'policy', 'body.targetId': 'proxy' }, says: { 'body.targetType': 'proxy' } },
  ],
  detachPolicy: {
    names: { 'path.id': 'policy', 'body.targetId': 'attachedAgent' },
    says: { 'body.targetType': 'agent' },
  },
  previewPolicy: {
    names: { 'body.policyId': 'policy', 'body.attachments': 'agentAsAttachment' },
    silent: ['body.name', 'body.enabled', 'body.rules'],
  },
  simulatePolicies: [
    { names: { 'body.agentId': 'agent', 'body.serviceName': 'token' }, silent: ['body.at', 'body.ip'] },
    { names: { 'body.proxyId': 'proxy', 'body.serviceName': 'token' }, silent: ['body.call'] },
  ],

  createProxy: [
    {
      names: { 'body.agentId': 'agent' },
      says: {
        'body.name': 'n',
        'body.upstreamUrl': 'https://mcp.example.com/',
        'body.upstreamAuthType': 'Token',
        'body.serviceName': 'github',
        'body.allowMissing': true,
      },
      silent: ['body.headerTemplates', 'body.region', 'body.service'],
    },
    {
      names: { 'body.agentId': 'agent' },
      says: {
        'body.name': 'h',
        'body.kind': 'http',
        'body.upstreamUrl': 'https://api.example.com',
        'body.serviceName': 'github',
        'body.allowMissing': true,
        'body.queryTemplates': { key: '${TOKEN}' },
        'body.redirects': 'follow-without-credential',
      },
    },
  ],
  listReach: [
    {
      names: { 'query.agentId': 'agentWithGrants', 'query.cursor': 'cursor' },
      silent: ['query.limit', 'query.by'],
    },
    { names: { 'query.serviceName': 'token' } },
    { names: { 'query.proxyId': 'proxy' } },
  ],
  readReachMatrix: { names: { 'body.callerIds': 'agentInList', 'body.serviceNames': 'tokenInList' } },
  listProxies: [PAGE, SEARCH],
  getProxy: PROXY,
  updateProxy: {
    names: { 'path.id': 'proxy', 'body.agentId': 'agent' },
    says: { 'body.name': 'taken' },
    silent: [
      'body.upstreamUrl',
      'body.serviceName',
      'body.allowMissing',
      'body.headerTemplates',
      'body.queryTemplates',
      'body.redirects',
      'body.region',
      'body.service',
    ],
  },
  deleteProxy: PROXY,
  revokeProxy: PROXY,
  revealProxyKey: PROXY,

  createProvider: {
    says: () => ({ ...CLIENT, 'body.clientId': randomUUID() }),
    silent: ['body.privateKey', 'body.algorithm', 'body.keyId'],
  },
  listProviders: PAGE,
  updateProvider: {
    ...PROVIDER,
    says: () => ({ ...CLIENT, 'body.clientId': randomUUID() }),
    silent: ['body.privateKey', 'body.algorithm', 'body.keyId'],
  },
  deleteProvider: PROVIDER,

  listApprovals: { ...PAGE, silent: ['query.limit', 'query.status'] },
  getApproval: APPROVAL,
  approve: {
    ...APPROVAL,
    says: { 'body.refreshPolicy': 'none' },
    silent: ['body.expiresInSeconds', 'body.grantExpiresAt'],
  },
  deny: APPROVAL,

  createNotificationChannel: {
    says: { 'body.type': 'slack', 'body.name': 'n', 'body.url': 'https://hooks.example.com/x' },
    silent: ['body.address', 'body.subscription'],
  },
  listNotificationChannels: PAGE,
  getNotificationOptions: NOTHING,
  testNotificationChannel: NOTIFICATION,
  deleteNotificationChannel: NOTIFICATION,

  getOverview: NOTHING,
  listAttention: NOTHING,
  // An id that the account has nothing for is left out.
  markAttentionSeen: { says: { 'body.ids': ['vault_locked'] } },
  listActiveAgents: { silent: ['query.hours', 'query.limit'] },
  getActivitySeries: {
    names: { 'query.agentId': 'agent' },
    silent: ['query.bucket', 'query.from', 'query.to'],
  },
  // What another account's caller has used: "one account's requests use up nothing of the other's".
  getLimits: { silent: ['query.callerId'] },
  listLockouts: NOTHING,
  getSetup: NOTHING,
  markSetupStep: { says: { 'path.step': 'bind-webhook' }, silent: ['body.state'] },
  exportAccount: NOTHING,

  listMembers: [PAGE, SEARCH],
  // An address signs in to one account, so that it is taken has to be told; by what account is not.
  addMember: {
    says: () => ({ 'body.email': `${randomUUID()}@example.org`, 'body.role': 'member' }),
  },
  inviteMember: MEMBER,
  changeMember: { ...MEMBER, says: { 'body.role': 'admin' } },
  removeMember: MEMBER,

  setPassword: {
    says: { 'body.newPassword': `password ${randomUUID()}` },
    silent: ['body.currentPassword'],
    notAsked: 'an admin key is no person',
  },
  signInByPassword: {
    names: { 'body.email': 'email' },
    says: { 'body.password': 'not the password' },
    notAsked: 'sign-in.test.ts signs in by password',
  },
  signInByLink: {
    says: { 'body.token': randomUUID() },
    notAsked: 'a link is a secret that names no account',
  },
  beginCliLogin: {
    says: { 'body.codeChallenge': CODE_CHALLENGE },
    silent: ['body.redirectUri', 'body.client'],
  },
  exchangeCliCode: {
    names: { 'body.requestId': 'cliRequest' },
    says: { 'body.code': randomUUID(), 'body.codeVerifier': 'v'.repeat(43) },
    notAsked: 'only a browser gets a code',
  },
  refreshCliSession: {
    says: { 'body.refreshToken': randomUUID() },
    notAsked: 'a refresh token is a secret that names no account',
  },
};
