import type { ExportedEvent } from './event-lines.ts';

/** The schema that the records are of: schema.ocsf.io/1.8.0 */
const VERSION = '1.8.0';

const API_ACTIVITY = { uid: 6003, activities: { create: 1, read: 2, update: 3, delete: 4 } } as const;
const AUTHENTICATION = { uid: 3002, activities: { logon: 1, logoff: 2 } } as const;
const ENTITY_MANAGEMENT = {
  uid: 3004,
  activities: {
    ...{ create: 1, read: 2, update: 3, delete: 4 },
    ...{ enroll: 6, unenroll: 7, disable: 9, suspend: 12, resume: 13 },
  },
} as const;

type Mapping =
  | readonly [typeof API_ACTIVITY, keyof (typeof API_ACTIVITY)['activities']]
  | readonly [typeof AUTHENTICATION, keyof (typeof AUTHENTICATION)['activities']]
  | readonly [typeof ENTITY_MANAGEMENT, keyof (typeof ENTITY_MANAGEMENT)['activities'], entity: Entity];

type Entity = 'Agent' | 'Proxy' | 'Grant' | 'Credential' | OtherEntity;
type OtherEntity =
  'Policy' | 'Folder' | 'Member' | 'Provider' | 'Notification' | 'Admin key' | 'Account' | 'Webhook';

/** Each event type as a class and an activity of it. */
const MAPPINGS: Readonly<Record<string, Mapping>> = {
  AGENT_CREDENTIAL_ACCESS: [API_ACTIVITY, 'read'],
  PROXY_CREDENTIAL_USE: [API_ACTIVITY, 'read'],
  OWNER_CREDENTIAL_ACCESS: [API_ACTIVITY, 'read'],
  KEY_REVEALED: [API_ACTIVITY, 'read'],
  TOKEN_STORE_TICKET: [API_ACTIVITY, 'update'],
  TOKEN_REFRESHED: [API_ACTIVITY, 'update'],
  APPROVAL_REQUESTED: [API_ACTIVITY, 'create'],
  APPROVAL_APPROVED: [API_ACTIVITY, 'update'],
  APPROVAL_DENIED: [API_ACTIVITY, 'update'],
  ACCOUNT_EXPORTED: [API_ACTIVITY, 'read'],
  WEBHOOK_LOG_CONTRADICTION: [API_ACTIVITY, 'read'],
  CHECKPOINT_REFUSED: [API_ACTIVITY, 'update'],
  LOGIN: [AUTHENTICATION, 'logon'],
  SESSION_REVOKED: [AUTHENTICATION, 'logoff'],
  OAUTH_SESSION_CREATED: [AUTHENTICATION, 'logon'],
  OAUTH_SESSION_REVOKED: [AUTHENTICATION, 'logoff'],
  AGENT_CREATED: [ENTITY_MANAGEMENT, 'create', 'Agent'],
  AGENT_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Agent'],
  AGENT_SUSPENDED: [ENTITY_MANAGEMENT, 'suspend', 'Agent'],
  AGENT_RESUMED: [ENTITY_MANAGEMENT, 'resume', 'Agent'],
  AGENT_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Agent'],
  KEY_ROTATED: [ENTITY_MANAGEMENT, 'update', 'Agent'],
  KEY_REVOKED: [ENTITY_MANAGEMENT, 'disable', 'Proxy'],
  GRANT_CREATED: [ENTITY_MANAGEMENT, 'create', 'Grant'],
  GRANT_RENEWED: [ENTITY_MANAGEMENT, 'update', 'Grant'],
  GRANT_REVOKED: [ENTITY_MANAGEMENT, 'delete', 'Grant'],
  GRANT_EXPIRED: [ENTITY_MANAGEMENT, 'delete', 'Grant'],
  TOKEN_CREATED: [ENTITY_MANAGEMENT, 'create', 'Credential'],
  TOKEN_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Credential'],
  TOKEN_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Credential'],
  POLICY_CREATED: [ENTITY_MANAGEMENT, 'create', 'Policy'],
  POLICY_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Policy'],
  POLICY_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Policy'],
  POLICY_ATTACHED: [ENTITY_MANAGEMENT, 'update', 'Policy'],
  POLICY_DETACHED: [ENTITY_MANAGEMENT, 'update', 'Policy'],
  PROXY_CREATED: [ENTITY_MANAGEMENT, 'create', 'Proxy'],
  PROXY_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Proxy'],
  PROXY_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Proxy'],
  FOLDER_CREATED: [ENTITY_MANAGEMENT, 'create', 'Folder'],
  FOLDER_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Folder'],
  FOLDER_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Folder'],
  MEMBER_CREATED: [ENTITY_MANAGEMENT, 'create', 'Member'],
  MEMBER_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Member'],
  MEMBER_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Member'],
  PROVIDER_CREATED: [ENTITY_MANAGEMENT, 'create', 'Provider'],
  PROVIDER_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Provider'],
  PROVIDER_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Provider'],
  NOTIFICATION_CREATED: [ENTITY_MANAGEMENT, 'create', 'Notification'],
  NOTIFICATION_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Notification'],
  ADMIN_KEY_CREATED: [ENTITY_MANAGEMENT, 'create', 'Admin key'],
  ADMIN_KEY_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Admin key'],
  ADMIN_KEY_DELETED: [ENTITY_MANAGEMENT, 'delete', 'Admin key'],
  VAULT_LOCKED: [ENTITY_MANAGEMENT, 'suspend', 'Account'],
  VAULT_UNLOCKED: [ENTITY_MANAGEMENT, 'resume', 'Account'],
  ACCOUNT_UPDATED: [ENTITY_MANAGEMENT, 'update', 'Account'],
  WEBHOOK_BOUND: [ENTITY_MANAGEMENT, 'enroll', 'Webhook'],
  WEBHOOK_UNBOUND: [ENTITY_MANAGEMENT, 'unenroll', 'Webhook'],
  WEBHOOK_SECRET_ROTATED: [ENTITY_MANAGEMENT, 'update', 'Webhook'],
};

const HIGH = 4;
const SEVERITIES: Readonly<Record<string, number>> = { success: 1, denied: 2, rate_limited: 2, error: 3 };

/**
 * An event as a record of OCSF; what OCSF has no attribute for is in `unmapped`. A type of a newer control plane is an API activity
 * that is not known.
 * @param host the control plane, which is the source where no request caused the event
 */
export function ocsfRecord(event: ExportedEvent, host: string): Readonly<Record<string, unknown>> {
  const { eventType, outcome, timestamp, seq, id, count, detail, origin = {}, vaultId } = event;
  const [ocsfClass, activity, entity] = MAPPINGS[eventType] ?? [API_ACTIVITY];
  const activityId = activity === undefined ? 0 : activityIdOf(ocsfClass.activities, activity);
  const classUid = ocsfClass.uid;
  const isSuccess = outcome === 'success';
  const isContradiction = ['WEBHOOK_LOG_CONTRADICTION', 'CHECKPOINT_REFUSED'].includes(eventType);
  const { requestId, address, userAgent, authenticatedBy } = origin;
  return {
    activity_id: activityId,
    category_uid: Math.floor(classUid / 1000),
    class_uid: classUid,
    type_uid: classUid * 100 + activityId,
    severity_id: isContradiction ? HIGH : (SEVERITIES[outcome] ?? 0),
    time: Date.parse(timestamp),
    count,
    status_id: isSuccess ? 1 : 2,
    status: isSuccess ? 'Success' : 'Failure',
    status_code: detail?.['code'] ?? (isSuccess ? undefined : outcome),
    metadata: {
      version: VERSION,
      product: { name: 'svault', vendor_name: 'svault' },
      uid: id,
      original_event_uid: id,
      event_code: eventType,
      sequence: seq,
      original_time: timestamp,
      tenant_uid: vaultId,
      correlation_uid: requestId,
      log_name: 'audit',
    },
    actor: actorOf(event),
    src_endpoint: address === undefined ? { name: host } : { ip: address },
    http_request: userAgent === undefined ? undefined : { user_agent: userAgent, uid: requestId },
    ...(ocsfClass === API_ACTIVITY && {
      api: { operation: eventType, service: { name: 'svault' } },
      resources: resourcesOf(event),
    }),
    ...(ocsfClass === AUTHENTICATION && {
      user: userOf(event) ?? { name: 'unknown' },
      service: { name: 'svault' },
      session: authenticatedBy === undefined ? undefined : { uid: authenticatedBy },
    }),
    ...(entity !== undefined && { entity: entityOf(event, entity) }),
    unmapped: unmappedOf(event),
  };
}

const activityIdOf = (activities: Readonly<Record<string, number>>, name: string): number =>
  activities[name] ?? 0;

interface User {
  readonly uid?: unknown;
  readonly name?: unknown;
  readonly email_addr?: unknown;
  readonly type_id: number;
}
const PERSON = 1;
const SERVICE = 4;

/** Whom the event is about as a principal: a person, or an agent or a proxy, which are service accounts. */
function userOf({
  userId,
  userEmail,
  agentId,
  agentName,
  proxyId,
  proxyName,
}: ExportedEvent): User | undefined {
  if (userId !== undefined)
    return { uid: userId, name: userEmail ?? userId, email_addr: userEmail, type_id: PERSON };
  if (agentId !== undefined) return { uid: agentId, name: agentName ?? agentId, type_id: SERVICE };
  return proxyId === undefined ? undefined : { uid: proxyId, name: proxyName ?? proxyId, type_id: SERVICE };
}

/** Types of which the agent or the proxy is the cause, and not what was changed. */
const BY_AGENTS = ['AGENT_CREDENTIAL_ACCESS', 'PROXY_CREDENTIAL_USE', 'KEY_REVEALED', 'APPROVAL_REQUESTED'];

function actorOf(event: ExportedEvent): Readonly<Record<string, unknown>> {
  const { eventType, agentId, userId, adminKeyName } = event;
  const isByProxy = eventType === 'PROXY_CREDENTIAL_USE';
  const cause = isByProxy && agentId !== undefined ? { ...event, agentId: undefined } : event;
  const user = userId !== undefined || BY_AGENTS.includes(eventType) ? userOf(cause) : undefined;
  return user === undefined ? { app_name: 'svault' } : { user, app_name: adminKeyName };
}

function resourcesOf({ serviceName, agentId, agentName, proxyId, proxyName, vaultId }: ExportedEvent) {
  const resources = [
    { uid: serviceName, name: serviceName, type: 'Credential' },
    { uid: agentId, name: agentName, type: 'Agent' },
    { uid: proxyId, name: proxyName, type: 'Proxy' },
  ].filter(({ uid }) => uid !== undefined);
  return resources.length === 0 ? [{ uid: vaultId, type: 'Account' }] : resources;
}

/** A type of managed entity that OCSF has no number for. */
const OTHER = 99;

/** What was changed. Where the event names no id for it, it is in the detail, and the account stands for it. */
function entityOf(event: ExportedEvent, type: Entity): Readonly<Record<string, unknown>> {
  const { agentId, agentName, proxyId, proxyName, serviceName, detail, vaultId } = event;
  const named: Readonly<Partial<Record<Entity, readonly [uid: unknown, name?: unknown]>>> = {
    Agent: [agentId, agentName],
    Proxy: [proxyId, proxyName],
    Grant: [agentId === undefined ? undefined : `${agentId}/${serviceName ?? ''}`, serviceName],
    Credential: [serviceName, serviceName],
  };
  const idInDetail = Object.entries(detail ?? {}).find(([name]) => name.endsWith('Id'))?.[1];
  const [uid = idInDetail ?? vaultId, name] = named[type] ?? [];
  return { uid: String(uid), name: name ?? detail?.['name'], type, type_id: OTHER };
}

/** What has no place above. */
function unmappedOf(event: ExportedEvent): Readonly<Record<string, unknown>> {
  const { hash, previousHash, detail, origin, agentId, proxyId, userId, serviceName, outcome } = event;
  const { channel, authenticatedBy } = origin ?? {};
  return {
    outcome,
    agentId,
    proxyId,
    userId,
    serviceName,
    channel,
    authenticatedBy,
    detail,
    hash,
    previousHash,
  };
}
