import type { AgentCredential } from '../core/agent.ts';
import type { Decision } from './decision.ts';

/**
 * What an agent asks for. A service is undefined where the request names not exactly one, or none that is legal: that is
 * refused in its turn, and not before.
 */
export type Question =
  /** To be let through, and no more: of the specification's two classes of traffic. */
  | { readonly kind: 'nothing'; readonly traffic: 'agent_credentials' | 'mcp_handshake' }
  /** The live grants. */
  | { readonly kind: 'grants' }
  /** A ticket for the credential. */
  | { readonly kind: 'credential'; readonly serviceName: string | undefined }
  /** A credential, in a form that there is not: refused where a service name would be. */
  | { readonly kind: 'malformed' }
  /** The grant alone, and nothing that a lock or a policy keeps. */
  | { readonly kind: 'grant'; readonly serviceName: string | undefined }
  /** The agent's own log about a service, for which no grant is needed. */
  | { readonly kind: 'history'; readonly serviceName: string | undefined };

/** A question, and by which door it came. */
export interface AccessRequest {
  /** Undefined where what was shown cannot be one. Where nothing was shown nobody asks: the door says so itself. */
  readonly credential: AgentCredential | undefined;
  /** At `mcp` the agent must have MCP on, and a ticket is given without asking whether the webhook is online. */
  readonly door: 'rest' | 'mcp';
  readonly question: Question;
  /** The caller's IP address, where it is known. */
  readonly sourceAddress: string | undefined;
}

/** Decides for both of the agents' doors, so that they have the same grants, policies and limits. */
export interface Access {
  /** @throws AppError AUDIT_UNAVAILABLE when the decision cannot be recorded: then nothing was given */
  decide(request: AccessRequest): Promise<Decision>;
}
