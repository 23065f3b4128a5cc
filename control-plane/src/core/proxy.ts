import type { Id } from '@svault/shared';

/** Specification, "MCP proxy". */
export type UpstreamAuthType = 'Token' | 'sv_session';

export type ProxyStatus = 'active' | 'revoked';

/** Contract, "Proxy": what a `Token` proxy sends along where its owner did not say. */
export const DEFAULT_TEMPLATES: Readonly<Record<string, string>> = { authorization: 'Bearer ${TOKEN}' };

export interface Proxy {
  readonly id: Id<'prx'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  readonly upstreamUrl: string;
  readonly upstreamAuthType: UpstreamAuthType;
  /** Of the credential that the webhook injects; undefined for `sv_session`. */
  readonly serviceName: string | undefined;
  readonly agentId: Id<'agt'> | undefined;
  readonly headerTemplates: Readonly<Record<string, string>> | undefined;
  readonly status: ProxyStatus;
  readonly keyPrefix: string;
  readonly createdAt: string;
  readonly revokedAt: string | undefined;
  readonly lastUsedAt: string | undefined;
  /** Grows with each change of what the webhook keeps of it. */
  readonly revision: number;
  /** `deliveryMark` of what the webhook was last given. */
  readonly deliveredAs: string | undefined;
}

/** What a `Token` proxy sends along. */
export const templatesOf = ({
  headerTemplates,
}: Pick<Proxy, 'headerTemplates'>): Readonly<Record<string, string>> => headerTemplates ?? DEFAULT_TEMPLATES;
