import type { Id } from '@svault/shared';
import type { AgentCredential } from './agent-credential.ts';

/**
 * Everything that a decision looks at, read at one moment: a suspend, revoke, lock or unbind that was answered
 * before the request is in it. Flat, so that one row needs no reshaping.
 */
export interface AccessSubject {
  readonly agentId: Id<'agt'>;
  readonly vaultId: Id<'vlt'>;
  /** `active`, `suspended` or `deleted` */
  readonly status: string;
  readonly mcpEnabled: 0 | 1;
  readonly lastUsedAt: string | null;
  /** RFC 7638 thumbprint of the key that sealed records are delivered to. */
  readonly sealingKeyThumbprint: string | null;
  readonly vaultLockedAt: string | null;
  /** Of the account, for its ceiling; counted no further than matters for it (`limits/aggregate.ts`). */
  readonly activeAgents: number;
  readonly proxies: number;
  /** Enabled policies of the agent and of the token asked for, in the form of `PolicyQuestion`; null where there are none. */
  readonly policies: string | null;
  /** What was counted of these policies' rules so far, in the form of `PolicyQuestion`; null where nothing was. */
  readonly policyUsage: string | null;
  /** Of the vault; it moves with every change of a policy or an attachment. */
  readonly policyRevision: number;

  /** The grant for the service asked for; null where there is none. */
  readonly grantId: Id<'grt'> | null;
  readonly grantExpiresAt: string | null;
  readonly refreshPolicy: 'none' | 'auto' | null;
  /** The folder that the grant was made from. */
  readonly sourceGroupId: string | null;

  /**
   * The vault's webhook; all null where none is bound, or where none of its answers came under its key yet: until then
   * it refuses tickets, and none is signed (protocol.md 5.1).
   */
  readonly webhookId: string | null;
  readonly webhookUrl: string | null;
  readonly keyId: string | null;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string | null;
}

/** One line of list mode, with the specification's member names. */
export interface ListedGrant {
  readonly serviceName: string;
  readonly grantExpiresAt: string | null;
  readonly refreshPolicy: string;
  readonly sourceGroupId: string | null;
}

/** Of a request for the list. */
export interface ListingSubject extends AccessSubject {
  /** Live ones, by service name. */
  readonly grants: readonly ListedGrant[];
}

/** Reads the truth each time, in one round trip: nothing here may be cached. */
export interface AccessStore {
  /**
   * @param serviceName whose grant to join; empty where no legal one was named
   * @param nowMs when a session's token is to be live
   * @returns undefined where nobody has this credential, or has it any more
   */
  find(
    credential: AgentCredential,
    serviceName: string,
    nowMs: number,
  ): AccessSubject | undefined | Promise<AccessSubject | undefined>;

  /** @param nowMs when the grants are to be live as well */
  findWithGrants(
    credential: AgentCredential,
    nowMs: number,
  ): ListingSubject | undefined | Promise<ListingSubject | undefined>;
}
