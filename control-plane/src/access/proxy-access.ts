import type { HeaderPairs, Id } from '@svault/shared';
import type { BoundWebhook } from './caller-subject.ts';
import type { Denied } from './denial.ts';
import type { BodyPlace } from './body-room.ts';
import type { OpenStream } from './open-streams.ts';

export interface ProxyRequest {
  /** Of the key that was shown (`proxy-credential.ts`); undefined where it cannot be one. */
  readonly keyHash: string | undefined;
  /** Which floor it counts against (specification, "Handshake exemption"). */
  readonly traffic: 'proxy_mcp' | 'mcp_handshake';
  /** Its headers as received; the session that they name must be one of the proxy. */
  readonly fields: HeaderPairs;
  /** The caller's IP address, where it is known. */
  readonly sourceAddress: string | undefined;
}

/** What a proxy is let do once: where its request goes, and what is to be added to it. */
export type ProxyUse = { readonly vaultId: Id<'vlt'>; readonly proxyId: Id<'prx'> } & (
  | {
      readonly kind: 'webhook';
      readonly webhook: BoundWebhook;
      readonly config: DeliverableProxy;
      /** As it was when the request was decided; null where the account has no token of that name. */
      readonly credentialRejected: 0 | 1 | null;
    }
  | {
      readonly kind: 'session';
      readonly proxy: SessionProxy;
      /** Without markers: what is to be sent as it stands. */
      readonly headerTemplates: Readonly<Record<string, string>>;
    }
);

export type ProxyDecision =
  | Denied
  /** Written down: `stream` is to be closed when the exchange is over. */
  | { readonly outcome: 'use'; readonly use: ProxyUse; readonly stream: OpenStream };

/** Whether more of a request may be read than of anybody's. */
export type Admittance =
  Denied | { readonly outcome: 'admitted'; readonly stream: OpenStream; readonly room: BodyPlace };

/** Decides for the proxies' door. */
export interface ProxyAccess {
  /** @throws AppError AUDIT_UNAVAILABLE when the decision cannot be recorded: then nothing may be forwarded */
  decide(request: ProxyRequest): Promise<ProxyDecision>;
  /**
   * Looks who it is, counts nothing, and holds one of the proxy's places while a large body is received, and room for it:
   * `stream` is to be closed when it is there, `room` when it is not needed any more.
   *
   * @param bytes as many as the body may have
   */
  admit(keyHash: string, bytes: number): Promise<Admittance>;
}

/** A proxy whose upstream takes sessions of this service (specification, "MCP proxy": `sv_session`). */
export interface SessionProxy {
  readonly vaultId: Id<'vlt'>;
  readonly proxyId: Id<'prx'>;
  readonly agentId: Id<'agt'>;
  /** The audience of its tokens. */
  readonly upstreamUrl: string;
}

/** A `Token` proxy as the webhook has to know it (protocol.md 5.3, `proxies.put`). */
export interface DeliverableProxy {
  readonly proxyId: Id<'prx'>;
  readonly serviceName: string;
  readonly upstreamUrl: string;
  readonly headerTemplates: Readonly<Record<string, string>>;
  readonly revision: number;
  /** `deliveryMark` of what the webhook was last given; null where that was nothing. */
  readonly deliveredAs: string | null;
}
