import type { EndSignal, HeaderPairs, Id } from '@svault/shared';
import type { AwsSigning } from '@svault/shared/schemas';
import type { AgentCredential } from '../core/agent.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Origin } from '../core/origin.ts';
import type { PolicyDenial } from '../core/policy.ts';
import type { FOLLOW_REDIRECTS, ProxyKind } from '../core/proxy.ts';
import type { LimiterDenial } from '../limits/limiter.ts';
import type { FilteredRequest } from '../policies/request-filter.ts';
import type { OpenApproval } from '../core/approval.ts';
import type { BodyReservation, OpenStream } from './concurrency-limits.ts';
import type { BoundWebhook, ListedGrant } from './subject.ts';

/** Denials that say nothing beyond their code. */
export const PLAIN_CODES = [
  'MISSING_KEY',
  'INVALID_KEY',
  'AGENT_INACTIVE',
  'MCP_DISABLED',
  'INVALID_SERVICE',
  'VAULT_LOCKED',
  'NO_GRANT',
  'GRANT_EXPIRED',
  'SESSION_NOT_FOUND',
  'WEBHOOK_NOT_CONFIGURED',
] as const satisfies readonly ErrorCode[];
export type PlainDenialCode = (typeof PLAIN_CODES)[number];

/** Why a request is denied. A value and not an exception: a denial is an ordinary answer, and a cheap one. */
export type Denial =
  | { readonly code: PlainDenialCode }
  /** `message` is for the caller. */
  | { readonly code: 'INVALID_REQUEST' | 'FORBIDDEN'; readonly message: string }
  | { readonly code: 'WEBHOOK_UNAVAILABLE'; readonly retryAfterSeconds: number }
  /** `scope` names the limit that had no room. */
  | {
      readonly code: 'RATE_LIMITED';
      readonly scope: LimiterDenial['scope'] | 'open_streams' | 'large_bodies' | 'open_approvals';
      readonly retryAfterSeconds: number;
    }
  /**
   * `retryAfterSeconds` only, and always, where `rule` is `rate_limit`; `approval` where it is `manual_approval` and one may be
   * given. `request` is for the log.
   */
  | ({
      readonly code: 'POLICY_DENIED';
      readonly retryAfterSeconds?: number;
      readonly request?: FilteredRequest | undefined;
      readonly approval?: OpenApproval | undefined;
    } & PolicyDenial)
  /** The credential's record at the webhook asks for an approval; `approval` unless too many are open. */
  | { readonly code: 'APPROVAL_REQUIRED'; readonly approval: OpenApproval | undefined };

export const plainDenial = (code: PlainDenialCode): Denial => ({ code });

export interface Denied {
  readonly outcome: 'denied';
  readonly denial: Denial;
}

export const denied = (denial: Denial): Denied => ({ outcome: 'denied', denial });

/**
 * What an agent requests. `serviceName` is undefined where the request names none, several, or an invalid one: the
 * pipeline denies that in its turn.
 */
export type Operation =
  /** A message that needs no grant; counted as one of the specification's two classes of traffic. */
  | { readonly kind: 'admission'; readonly traffic: 'agent_credentials' | 'mcp_handshake' }
  /** The list of live grants. */
  | { readonly kind: 'grants' }
  /** A ticket for the credential. */
  | { readonly kind: 'credential'; readonly serviceName: string | undefined }
  /** Parameters that are not understood: denied where an invalid service name is. `message` says which. */
  | { readonly kind: 'malformed'; readonly message: string }
  /** The grant alone: neither the vault lock nor a policy denies it. */
  | { readonly kind: 'grant'; readonly serviceName: string | undefined }
  /** The agent's own log about a service, which needs no grant. */
  | { readonly kind: 'history'; readonly serviceName: string | undefined }
  /** A grant, which the owner may make of it. Denied where the account does not let agents ask. */
  | { readonly kind: 'access_request'; readonly serviceName: string | undefined };

/** How long a request that needs an approval may be held open for it. */
export interface Waiting {
  readonly seconds: number;
  /** Aborted when the client disconnects. */
  readonly signal: EndSignal;
}
/** `wait` is at most this. */
export const MAX_WAIT_SECONDS = 30;

/** For the log, and for policies that look at the address. A ticket has the request's id. */
export type RequestOrigin = Origin & { readonly requestId: string };

export interface AccessRequest {
  /** Undefined where the presented text cannot be a credential. A channel itself denies a request without one. */
  readonly credential: AgentCredential | undefined;
  /** `mcp` requires that the agent has MCP on, and issues a ticket also while the webhook is offline. */
  readonly channel: 'rest' | 'mcp';
  readonly operation: Operation;
  /** Why the agent asks, in its words, for the approver. */
  readonly reason?: string | undefined;
  /** Absent: a request that needs an approval is denied at once. */
  readonly waiting?: Waiting | undefined;
  readonly origin: RequestOrigin;
}

/** The authenticated agent, for what a channel reads by itself. */
export interface Caller {
  readonly vaultId: Id<'vlt'>;
  readonly agentId: Id<'agt'>;
  /** Whether it may ask for grants. */
  readonly accessRequests: boolean;
}

export type Decision =
  | Denied
  /** `url` works once; `expiresAt` in epoch ms. */
  | { readonly outcome: 'ticket'; readonly url: string; readonly expiresAt: number }
  | { readonly outcome: 'grants'; readonly caller: Caller; readonly grants: readonly ListedGrant[] }
  | { readonly outcome: 'grant'; readonly caller: Caller; readonly grant: ListedGrant }
  /** Asked for; `approval` is undefined where the agent has the grant already, so that there is nothing to decide. */
  | {
      readonly outcome: 'access_requested';
      readonly caller: Caller;
      readonly approval: OpenApproval | undefined;
    }
  /** For the operations `admission` and `history`. */
  | { readonly outcome: 'admitted'; readonly caller: Caller };

/** Decides for REST and MCP, so that both have the same grants, policies and limits. */
export interface Access {
  /** @throws ApiError AUDIT_UNAVAILABLE when the decision cannot be recorded: then nothing was issued */
  decide(request: AccessRequest): Promise<Decision>;
}

export interface ProxyRequest {
  /** Of the presented key (`proxyKeyHash`); undefined where the text cannot be one. */
  readonly keyHash: string | undefined;
  /** The kind of proxy that the called endpoint serves. */
  readonly kind: ProxyKind;
  /** The floor that it counts against (specification, "Handshake exemption"). */
  readonly traffic: 'proxy_mcp' | 'mcp_handshake';
  readonly method: string;
  /** The path and query below the base URL of an HTTP API, as received; undefined for an MCP server. */
  readonly target: string | undefined;
  /** Its headers as received; a session that they name must be one of the proxy. */
  readonly fields: HeaderPairs;
  readonly body: Uint8Array;
  /** As of an agent's request. */
  readonly reason?: string | undefined;
  readonly waiting?: Waiting | undefined;
  readonly origin: RequestOrigin;
}

/** One allowed forwarding: its destination, and what is added to the request. */
export type ProxyUse = {
  readonly vaultId: Id<'vlt'>;
  readonly proxyId: Id<'prx'>;
  readonly origin: RequestOrigin;
} & (
  | {
      readonly kind: 'webhook';
      readonly webhook: BoundWebhook;
      readonly config: ProxyConfig;
      /** At the time of the decision; null where the account has no token of that name. */
      readonly credentialRejected: 0 | 1 | null;
    }
  | {
      readonly kind: 'session';
      readonly proxy: SessionProxy;
      /** Without markers: sent as they are. */
      readonly headerTemplates: Readonly<Record<string, string>>;
    }
);

/** A `Token` proxy as the webhook has to know it (PROTOCOL.md 5.3, `proxies.put`). */
export interface ProxyConfig {
  readonly proxyId: Id<'prx'>;
  readonly serviceName: string;
  readonly upstreamUrl: string;
  readonly headerTemplates: Readonly<Record<string, string>>;
  /** Absent for an MCP server. */
  readonly kind?: 'http';
  readonly queryTemplates?: Readonly<Record<string, string>>;
  readonly signing?: AwsSigning;
  readonly redirects?: typeof FOLLOW_REDIRECTS;
  readonly revision: number;
  /** `deliveryMark` of the settings that the webhook was last given; null where it was given none. */
  readonly deliveredAs: string | null;
}

/** The kind of the proxy that is used. */
export const kindOf = (use: ProxyUse): ProxyKind =>
  use.kind === 'webhook' ? (use.config.kind ?? 'mcp') : 'mcp';

/** A proxy whose upstream takes the control plane's sessions (specification, "MCP proxy": `sv_session`). */
export interface SessionProxy {
  readonly vaultId: Id<'vlt'>;
  readonly proxyId: Id<'prx'>;
  readonly agentId: Id<'agt'>;
  /** The audience of its tokens. */
  readonly upstreamUrl: string;
}

export type ProxyDecision =
  | Denied
  /** Committed to the log; the caller closes `stream` at the end of the exchange. */
  | {
      readonly outcome: 'use';
      readonly use: ProxyUse;
      readonly stream: OpenStream;
      /**
       * Resolves when the event is on the disk: nothing of an answer goes out before. Rejects with ApiError
       * AUDIT_UNAVAILABLE.
       */
      readonly durable: Promise<void>;
      /**
       * Decides again about a use that has waited for the webhook. What was counted is not counted again.
       *
       * @returns undefined where the use is allowed as it was decided
       * @throws ApiError UNAVAILABLE where it would be allowed with other settings or another webhook
       */
      readonly recheck: () => Promise<Denial | undefined>;
    };

/** Whether a large body may be read. */
export type Admittance =
  Denied | { readonly outcome: 'admitted'; readonly stream: OpenStream; readonly room: BodyReservation };

export interface ProxyAccess {
  /** @throws ApiError AUDIT_UNAVAILABLE when the decision cannot be recorded: then nothing may be forwarded */
  decide(request: ProxyRequest): Promise<ProxyDecision>;
  /**
   * Authenticates before a large body is read, and counts nothing. It takes one of the proxy's streams, which the caller
   * closes once it has the body, and memory for the body, which the caller closes after its use.
   *
   * @param bytes the maximum size of the body
   */
  admit(keyHash: string, bytes: number, origin: RequestOrigin): Promise<Admittance>;
}
