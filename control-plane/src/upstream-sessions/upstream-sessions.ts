import type { Id, Secret } from '@svault/shared';

/** A proxy whose upstream takes sessions of this service (specification, "MCP proxy": `sv_session`). */
export interface SessionProxy {
  readonly vaultId: Id<'vlt'>;
  readonly proxyId: Id<'prx'>;
  readonly agentId: Id<'agt'>;
  /** The audience of its tokens. */
  readonly upstreamUrl: string;
}

/** The tokens that the service sends to upstreams: `svsess_` of the proxy's agent, for that upstream and nobody else. */
export interface UpstreamSessions {
  /** The access token in use, made anew in time; the agent's own never goes there. */
  tokenFor(proxy: SessionProxy): Promise<Secret<string>>;
}
