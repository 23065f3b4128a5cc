/** The operation of a ticket (PROTOCOL.md section 4, `op`). */
export type TicketOp = 'credential' | 'store' | 'proxy';

interface CommonClaims {
  /** The control plane's base URL without trailing slash, byte for byte. */
  readonly iss: string;
  /** The webhook's id. */
  readonly aud: string;
  /** Agent, proxy or owner: `agt_…`, `prx_…`, `usr_…`. */
  readonly sub: string;
  /** The service name. */
  readonly svc: string;
  /** 22 to 64 base64url characters; accepted once for `credential` and `store`. */
  readonly jti: string;
  /** Seconds since 1970. */
  readonly iat: number;
  /** Seconds since 1970; at most 60 after `iat`, 300 for `store`. */
  readonly exp: number;
}

/** Fetches a credential at `/v1/credential`. */
export interface CredentialTicket extends CommonClaims {
  readonly op: 'credential';
  /** Grant; may be absent for an owner. */
  readonly gnt?: string;
  /** The grant's refresh policy. */
  readonly rfp: 'none' | 'auto';
  /** Picks one of a sealed record's recipients, by its RFC 7638 SHA-256 thumbprint. */
  readonly cnf?: { readonly jkt: string };
}

/** Stores a credential at `/v1/store`. */
export interface StoreTicket extends CommonClaims {
  readonly op: 'store';
  /** The version to be replaced; 0: there must be none. */
  readonly ifv?: number;
}

/** Uses a credential at `/v1/proxy`. */
export interface ProxyTicket extends CommonClaims {
  readonly op: 'proxy';
  /** The agent's method: one that {@link isHttpMethod} accepts; for an MCP proxy, one of `MCP_METHODS`. */
  readonly htm: string;
  /** The proxy's id. */
  readonly prx: string;
}

export type TicketClaims = CredentialTicket | StoreTicket | ProxyTicket;
export type TicketFor<Op extends TicketOp> = Extract<TicketClaims, { readonly op: Op }>;

/** PROTOCOL.md section 4, `htm`: the methods that an MCP proxy accepts. */
export const MCP_METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS'] as const;
type McpMethod = (typeof MCP_METHODS)[number];
export const isMcpMethod = (text: string): text is McpMethod => MCP_METHODS.some((method) => method === text);

const HTTP_METHOD = /^(?!CONNECT$|TRACE$)[A-Z][A-Z-]{0,19}$/;

/** PROTOCOL.md section 5.8: whether the proxy of an HTTP API accepts a method. */
export const isHttpMethod = (text: string): boolean => HTTP_METHOD.test(text);

/** PROTOCOL.md section 4: the longest `exp - iat`. */
export const MAX_LIFETIME_SECONDS: Readonly<Record<TicketOp, number>> = {
  credential: 60,
  store: 300,
  proxy: 60,
};

/** PROTOCOL.md section 4: at most this many characters, header and MAC included. */
export const MAX_TICKET_CHARACTERS = 4096;

/** PROTOCOL.md section 4: how far the clocks may differ; a `jti` is remembered this long after `exp`. */
export const TICKET_SKEW_SECONDS = 30;

/** Until when a `jti` has to be remembered, seconds since 1970: the moment after which its ticket is too old. */
export function ticketClaimUntil(claims: Pick<TicketClaims, 'exp'>): number {
  return claims.exp + TICKET_SKEW_SECONDS;
}
