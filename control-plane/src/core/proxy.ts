import { type Id, hashKey, isWellFormedKey } from '@svault/shared';
import type { NamedPageRequest, Page } from './paging.ts';

/** Specification, "MCP proxy". */
export const UPSTREAM_AUTH_TYPES = ['Token', 'sv_session', 'aws_sigv4'] as const;
export type UpstreamAuthType = (typeof UPSTREAM_AUTH_TYPES)[number];

/** The kind of upstream: an MCP server, or an HTTP API below a base URL (PROTOCOL.md section 5.8). */
export const PROXY_KINDS = ['mcp', 'http'] as const;
export type ProxyKind = (typeof PROXY_KINDS)[number];

/** The webhook follows redirects of GET and HEAD to other origins. Without this setting they are denied. */
export const FOLLOW_REDIRECTS = 'follow-without-credential';

export type ProxyStatus = 'active' | 'revoked';

/** The headers that a `Token` proxy adds by default. */
export const DEFAULT_TEMPLATES: Readonly<Record<string, string>> = { authorization: 'Bearer ${TOKEN}' };

export interface Proxy {
  readonly id: Id<'prx'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  readonly kind: ProxyKind;
  /** The MCP server; for `http` the base URL, without a query. */
  readonly upstreamUrl: string;
  readonly upstreamAuthType: UpstreamAuthType;
  /** The credential that the webhook injects; undefined for `sv_session`. */
  readonly serviceName: string | undefined;
  readonly agentId: Id<'agt'> | undefined;
  readonly headerTemplates: Readonly<Record<string, string>> | undefined;
  /** Query parameters that the webhook adds; for `http` only, as `redirects` is. */
  readonly queryTemplates: Readonly<Record<string, string>> | undefined;
  readonly redirects: typeof FOLLOW_REDIRECTS | undefined;
  /** For `aws_sigv4`, as `service` is: the scope of the signature, where the host name does not imply it. */
  readonly region: string | undefined;
  readonly service: string | undefined;
  readonly status: ProxyStatus;
  readonly keyPrefix: string;
  readonly createdAt: string;
  readonly revokedAt: string | undefined;
  readonly lastUsedAt: string | undefined;
  /** Each change of the settings that the webhook keeps raises it. */
  readonly revision: number;
  /** `deliveryMark` of the settings that the webhook was last given. */
  readonly deliveredAs: string | undefined;
}

/** The members of a webhook's proxy configuration that only an HTTP API has (PROTOCOL.md section 5.3), without absent ones. */
export const httpMembers = ({
  kind,
  queryTemplates,
  redirects,
  upstreamAuthType,
  region,
  service,
}: Pick<Proxy, 'kind' | 'queryTemplates' | 'upstreamAuthType'> & {
  readonly [Member in 'redirects' | 'region' | 'service']: Proxy[Member] | null;
}) => ({
  ...(kind === 'http' && { kind }),
  ...(queryTemplates && { queryTemplates }),
  ...(redirects && { redirects }),
  ...(upstreamAuthType === 'aws_sigv4' && {
    signing: { type: upstreamAuthType, ...(region && { region }), ...(service && { service }) },
  }),
});

/** The capability without which a webhook does not understand the settings (PROTOCOL.md sections 5.8 and 5.9). */
export function neededCapability({
  kind,
  headerTemplates = {},
  upstreamAuthType,
}: Pick<Proxy, 'kind' | 'headerTemplates' | 'upstreamAuthType'>): 'http-proxy' | 'aws-sigv4' | undefined {
  if (upstreamAuthType === 'aws_sigv4') return 'aws-sigv4';
  const isOfHttp =
    kind === 'http' || Object.values(headerTemplates).some((template) => template.includes('${BASIC:'));
  return isOfHttp ? 'http-proxy' : undefined;
}

export const templatesOf = ({
  headerTemplates,
}: Pick<Proxy, 'headerTemplates'>): Readonly<Record<string, string>> => headerTemplates ?? DEFAULT_TEMPLATES;

/** Templates as they are stored: a JSON object, or null. */
export const parseTemplates = (stored: string | null): Readonly<Record<string, string>> | undefined =>
  stored === null ? undefined : (JSON.parse(stored) as Record<string, string>);

/** The path of each kind's endpoint, below the control plane's public URL. */
export const PROXY_PATHS: Readonly<Record<ProxyKind, string>> = {
  mcp: '/api/proxy/mcp',
  http: '/api/proxy/http',
};

/** A proxy's key as it is stored: found by its hash, revealed from the wrapped form. */
interface StoredProxyKey {
  /** SHA-256, lower-case hex; unique over all accounts. */
  readonly keyHash: string;
  /** base64url of the key under the root key. */
  readonly keyWrapped: string;
}

export interface ProxyStore {
  /** The active proxy that has this name, or one that people would take for it (`nameKey`). */
  named(vaultId: Id<'vlt'>, name: string): Promise<Proxy | undefined>;
  /** Throws where another active proxy has the name. */
  add(proxy: Proxy & StoredProxyKey): Promise<void>;
  /** Revoked ones too. */
  get(vaultId: Id<'vlt'>, id: string): Promise<Proxy | undefined>;
  /** Oldest first; revoked ones too. */
  list(vaultId: Id<'vlt'>, page: NamedPageRequest): Promise<Page<Proxy>>;
  /** Writes what an owner may change, and the revision. */
  update(proxy: Proxy): Promise<void>;
  /** The hash stays, so that the key is never given again; the wrapped key is erased, and the name is free. */
  markRevoked(vaultId: Id<'vlt'>, id: Id<'prx'>, revokedAt: string): Promise<void>;
  remove(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<void>;
  /** The active proxies of an agent, oldest first, with their keys. */
  ofAgent(
    vaultId: Id<'vlt'>,
    agentId: Id<'agt'>,
  ): Promise<readonly (Proxy & Pick<StoredProxyKey, 'keyWrapped'>)[]>;
  /** Undefined for a revoked proxy. */
  wrappedKey(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<string | undefined>;
  /** @returns false, and records nothing, where the proxy was deleted, revoked or changed meanwhile */
  noteDelivered(
    proxy: { readonly vaultId: Id<'vlt'>; readonly id: Id<'prx'>; readonly revision: number },
    deliveredAs: string,
  ): Promise<boolean>;
  forgetDelivery(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<void>;
  /** Of every proxy of an account. */
  forgetDeliveries(vaultId: Id<'vlt'>): Promise<void>;
}

/** Settings of a deleted proxy that a webhook may still have. */
export interface ProxyRemoval {
  readonly vaultId: Id<'vlt'>;
  readonly webhookId: string;
  readonly proxyId: Id<'prx'>;
}

export interface OwedRemoval extends ProxyRemoval {
  /** Failed attempts. */
  readonly tries: number;
}

export interface ProxyRemovalStore {
  /** Records a removal that is due at once. */
  owe(removal: ProxyRemoval, now: string): Promise<void>;
  /** The longest due first. */
  due(now: string, limit: number): Promise<readonly OwedRemoval[]>;
  postpone(removal: ProxyRemoval, until: { readonly dueAt: string; readonly tries: number }): Promise<void>;
  /** Postpones every due removal for the same webhook. */
  postponeAll(
    of: Pick<ProxyRemoval, 'vaultId' | 'webhookId'>,
    until: { readonly now: string; readonly dueAt: string },
  ): Promise<void>;
  settle(removal: ProxyRemoval): Promise<void>;
}

/** @returns undefined where the text does not have the form of a proxy's key, `mcp_…` */
export const proxyKeyHash = (text: string): string | undefined =>
  isWellFormedKey('mcp', text) ? hashKey(text) : undefined;
