import { type Id, hashKey, isWellFormedKey } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';

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

/** Where clients of a proxy call it, below the service's public address. */
export const PROXY_PATH = '/api/proxy/mcp';

/** A proxy's key as it is kept: found by its hash, shown again from the wrapped form. */
export interface StoredProxyKey {
  /** SHA-256, lower-case hex; unique over all accounts. */
  readonly keyHash: string;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string;
}

export interface ProxyStore {
  add(proxy: Proxy & StoredProxyKey): Promise<void>;
  /** Revoked ones too. */
  get(vaultId: Id<'vlt'>, id: string): Promise<Proxy | undefined>;
  /** Oldest first; revoked ones too. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Proxy>>;
  /** Writes what an owner may change, and the revision. */
  update(proxy: Proxy): Promise<void>;
  /** The hash stays, so that nobody gets a key of it again; the wrapped key is erased. */
  markRevoked(vaultId: Id<'vlt'>, id: Id<'prx'>, revokedAt: string): Promise<void>;
  remove(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<void>;
  /** Undefined for a revoked proxy. */
  wrappedKey(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<string | undefined>;
  /** @returns false, and notes nothing, where the proxy is gone, revoked, or at another revision by now */
  noteDelivered(
    proxy: { readonly vaultId: Id<'vlt'>; readonly id: Id<'prx'>; readonly revision: number },
    deliveredAs: string,
  ): Promise<boolean>;
  forgetDelivery(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<void>;
  /** Of every proxy of an account. */
  forgetDeliveries(vaultId: Id<'vlt'>): Promise<void>;
}

/** Settings of a proxy that is gone, which a webhook may still have. */
export interface ProxyRemoval {
  readonly vaultId: Id<'vlt'>;
  readonly webhookId: string;
  readonly proxyId: Id<'prx'>;
}

export interface OwedRemoval extends ProxyRemoval {
  /** How often the webhook was asked in vain. */
  readonly tries: number;
}

export interface ProxyRemovalStore {
  /** Owed from now on; one that is owed already is due at once. */
  owe(removal: ProxyRemoval, now: string): Promise<void>;
  /** Those whose time has come, the longest due first. */
  due(now: string, limit: number): Promise<readonly OwedRemoval[]>;
  postpone(removal: ProxyRemoval, until: { readonly dueAt: string; readonly tries: number }): Promise<void>;
  /** All that the vault owes this webhook and that is due: they wait for the same webhook. */
  postponeAll(
    of: Pick<ProxyRemoval, 'vaultId' | 'webhookId'>,
    until: { readonly now: string; readonly dueAt: string },
  ): Promise<void>;
  settle(removal: ProxyRemoval): Promise<void>;
}

/**
 * What a proxy is known by, as it is kept and looked up: never the key itself.
 *
 * @returns undefined where the text has not the form of a proxy's key, `mcp_…`
 */
export const proxyKeyHash = (text: string): string | undefined =>
  isWellFormedKey('mcp', text) ? hashKey(text) : undefined;
