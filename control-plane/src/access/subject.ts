import type { Id } from '@svault/shared';
import type { AgentCredential } from '../core/agent.ts';
import type { FOLLOW_REDIRECTS, ProxyKind, UpstreamAuthType } from '../core/proxy.ts';

/**
 * What a decision reads about an agent or a proxy, all at one moment: it includes every suspend, revoke, lock and unbind
 * that was answered before the request. Flat, so that a database row needs no reshaping.
 */
export interface CallerSubject {
  readonly vaultId: Id<'vlt'>;
  readonly lastUsedAt: string | null;
  readonly vaultLockedAt: string | null;
  /** Of the account, for its aggregate limit; counted no further than matters for it (`limits/scopes.ts`). */
  readonly activeAgents: number;
  readonly proxies: number;
  /** Enabled policies of the caller and of the requested token, as `PolicyInput.policies`; null where there are none. */
  readonly policies: string | null;
  /** Counts of their rules so far, as `PolicyInput.usage`; null where there are none. */
  readonly policyUsage: string | null;
  /** Of the account; each change that a decision may depend on raises it. */
  readonly accountRevision: number;
  /** Whether the account lets agents ask for grants. */
  readonly accessRequests: 0 | 1;

  /**
   * The vault's webhook; all null where none is bound, or where it has not answered under its key yet: until then it
   * rejects tickets, so none is signed (PROTOCOL.md 5.1).
   */
  readonly webhookId: string | null;
  readonly webhookUrl: string | null;
  readonly keyId: string | null;
  /** base64url of the key under the root key. */
  readonly keyWrapped: string | null;
}

export interface AgentSubject extends CallerSubject {
  readonly agentId: Id<'agt'>;
  /** `active`, `suspended` or `deleted` */
  readonly status: string;
  readonly mcpEnabled: 0 | 1;
  /** When the shown access token expires; null for a key. */
  readonly credentialExpiresAt: string | null;
  /** The OAuth session of the shown access token; null for a key. */
  readonly sessionId: Id<'ses'> | null;
  /** RFC 7638 thumbprint of the key that sealed credentials are encrypted to. */
  readonly sealingKeyThumbprint: string | null;

  /** The grant for the requested service; null where there is none. */
  readonly grantId: Id<'grt'> | null;
  readonly grantExpiresAt: string | null;
  readonly refreshPolicy: 'none' | 'auto' | null;
  /** The folder that the grant was made from. */
  readonly sourceGroupId: string | null;
  /** What the granted credential is known to need an approval for (`TokenStore.approvals`); null: nothing. */
  readonly approval: string | null;
  /** Live grants by service name, where the request is for the list. */
  readonly grants?: readonly ListedGrant[];
}

/** One line of list mode, with the specification's member names. */
export interface ListedGrant {
  readonly serviceName: string;
  readonly grantExpiresAt: string | null;
  readonly refreshPolicy: string;
  readonly sourceGroupId: string | null;
}

export type ListingSubject = AgentSubject & Required<Pick<AgentSubject, 'grants'>>;

export interface ProxySubject extends CallerSubject {
  readonly proxyId: Id<'prx'>;
  /** `active` or `revoked` */
  readonly proxyStatus: string;
  readonly kind: ProxyKind;
  readonly upstreamAuthType: UpstreamAuthType;
  readonly upstreamUrl: string;
  /** Null for `sv_session`. */
  readonly serviceName: string | null;
  /** JSON object; null for `sv_session`. */
  readonly headerTemplates: string | null;
  /** JSON object; null where there are none. */
  readonly queryTemplates: string | null;
  readonly redirects: typeof FOLLOW_REDIRECTS | null;
  readonly region: string | null;
  readonly service: string | null;
  /** Whether an upstream rejected the credential; null where the account has no token of that name. */
  readonly credentialRejected: 0 | 1 | null;
  /** Each change of the settings that the webhook keeps raises it. */
  readonly revision: number;
  /** `deliveryMark` of the settings that the webhook was last given. */
  readonly deliveredAs: string | null;
  /** The agent that the proxy acts for; null where it acts for none. */
  readonly agentId: Id<'agt'> | null;
  /** `active`, `suspended` or `deleted`; null where there is no such agent. */
  readonly agentStatus: string | null;
}

/** Reads the current state each time, in one round trip: nothing here may be cached. */
export interface AccessStore {
  /**
   * @param serviceName joins the grant for it; `''` where the request names no valid one
   * @param nowMs when a session's token must be live
   * @returns undefined where nobody has this credential now
   */
  find(
    credential: AgentCredential,
    serviceName: string,
    nowMs: number,
  ): AgentSubject | undefined | Promise<AgentSubject | undefined>;

  /** @param nowMs when the grants must be live too */
  findWithGrants(
    credential: AgentCredential,
    nowMs: number,
  ): ListingSubject | undefined | Promise<ListingSubject | undefined>;
}

/** Reads the current state each time, in one round trip: nothing here may be cached. */
export interface ProxyAccessStore {
  /** @returns a revoked proxy too; undefined where no proxy has this key */
  find(keyHash: string): ProxySubject | undefined | Promise<ProxySubject | undefined>;
}

/** A vault's webhook as a ticket needs it. */
export interface BoundWebhook {
  readonly webhookId: string;
  readonly url: string;
  readonly keyId: string;
  /** base64url of the key under the root key. */
  readonly keyWrapped: string;
}

/** @returns undefined where no ticket may be signed */
export function webhookOf(subject: CallerSubject): BoundWebhook | undefined {
  const { webhookId, webhookUrl, keyId, keyWrapped } = subject;
  if (webhookId === null || webhookUrl === null || keyId === null || keyWrapped === null) return undefined;
  return { webhookId, url: webhookUrl, keyId, keyWrapped };
}

/** Why a proxy may not act: it is revoked, or the agent that it acts for is not active. */
export function inactivity({
  proxyStatus,
  agentId,
  agentStatus,
}: Pick<ProxySubject, 'proxyStatus' | 'agentId' | 'agentStatus'>):
  'INVALID_KEY' | 'AGENT_INACTIVE' | undefined {
  if (proxyStatus !== 'active') return 'INVALID_KEY';
  return agentId === null || agentStatus === 'active' ? undefined : 'AGENT_INACTIVE';
}

/** `lastUsedAt` is written at most once a minute, so that it costs the hot path nothing. */
const LAST_USED_RESOLUTION_MS = 60_000;

/** Whether `lastUsedAt` is due to be written again. */
export const isStale = ({ lastUsedAt }: Pick<CallerSubject, 'lastUsedAt'>, nowMs: number): boolean =>
  lastUsedAt === null || nowMs - Date.parse(lastUsedAt) >= LAST_USED_RESOLUTION_MS;
