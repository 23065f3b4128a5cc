import type { Id } from '@svault/shared';
import type { CallerSubject } from './caller-subject.ts';
import type { UpstreamAuthType } from '../core/proxy.ts';

/** Everything that a decision about a proxy looks at. */
export interface ProxySubject extends CallerSubject {
  readonly proxyId: Id<'prx'>;
  readonly upstreamAuthType: UpstreamAuthType;
  readonly upstreamUrl: string;
  /** Null for `sv_session`. */
  readonly serviceName: string | null;
  /** JSON object; null for `sv_session`. */
  readonly headerTemplates: string | null;
  /** Whether the credential is marked as rejected by an upstream; null where the account has no token of that name. */
  readonly credentialRejected: 0 | 1 | null;
  /** Grows with each change of what the webhook keeps of it. */
  readonly revision: number;
  /** `deliveryMark` of what the webhook was last given. */
  readonly deliveredAs: string | null;
  /** Whom the proxy acts for; null where that is nobody. */
  readonly agentId: Id<'agt'> | null;
  /** `active`, `suspended` or `deleted`; null where there is no such agent. */
  readonly agentStatus: string | null;
}

/** Reads the truth each time, in one round trip: nothing here may be cached. */
export interface ProxyAccessStore {
  /** @returns undefined where no proxy has this key, or has it any more */
  find(keyHash: string): ProxySubject | undefined | Promise<ProxySubject | undefined>;
}
