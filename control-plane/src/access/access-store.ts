import type { Id } from '@svault/shared';
import type { AgentCredential } from '../core/agent.ts';
import type { CallerSubject } from './caller-subject.ts';

/** Everything that a decision about an agent looks at. */
export interface AccessSubject extends CallerSubject {
  readonly agentId: Id<'agt'>;
  /** `active`, `suspended` or `deleted` */
  readonly status: string;
  readonly mcpEnabled: 0 | 1;
  /** RFC 7638 thumbprint of the key that sealed records are delivered to. */
  readonly sealingKeyThumbprint: string | null;

  /** The grant for the service asked for; null where there is none. */
  readonly grantId: Id<'grt'> | null;
  readonly grantExpiresAt: string | null;
  readonly refreshPolicy: 'none' | 'auto' | null;
  /** The folder that the grant was made from. */
  readonly sourceGroupId: string | null;
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
