import type { GroupCommit } from '@svault/server-kit/group-commit';
import { canonicalJson } from '@svault/shared/audit-chain';
import type { ProxyConfig } from '@svault/shared/schemas';
import type { AuditLog } from '../audit/audit-log.ts';
import { ApiError } from '../errors.ts';

/** Proxies' configurations. Calls are synchronous; writing ones take part in the open transaction. */
export interface ProxyConfigStore {
  get(proxyId: string): ProxyConfig | undefined;
  /** In the order of ids; the first page comes after `''`. */
  page(query: { readonly after: string; readonly limit: number }): readonly ProxyConfig[];
  /** Greater than every version this id ever had, after deletion too. */
  nextVersion(proxyId: string): number;
  /** Replaces a former config of its id. */
  put(config: ProxyConfig): void;
  delete(proxyId: string): void;
}

type NewProxyConfig = Omit<ProxyConfig, 'version'>;

/**
 * The configurations of proxies, as the control plane wrote them; they hold no secret (PROTOCOL.md section 5.3). Every
 * change is one commit with its entry in the log.
 */
export function createProxyConfigs(deps: {
  readonly store: ProxyConfigStore;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
}) {
  const { store, audit, commit } = deps;

  const checkVersion = (stored: ProxyConfig | undefined, ifVersion: number | undefined): void => {
    if (ifVersion === undefined || ifVersion === (stored?.version ?? 0)) return;
    throw new ApiError('VERSION_CONFLICT', 'the proxy has another version');
  };

  const log = (
    eventType: 'PROXY_CONFIG_STORED' | 'PROXY_CONFIG_DELETED',
    { proxyId, serviceName, version }: ProxyConfig,
  ): void => audit.appendNow({ eventType, outcome: 'success', proxyId, serviceName, detail: { version } });

  return {
    get: store.get,
    list: store.page,
    /**
     * A config equal to the stored one succeeds unchanged with any `ifVersion`, so that a put may be repeated.
     *
     * @param ifVersion 0: there must be none yet
     * @throws ApiError VERSION_CONFLICT
     */
    put: (config: NewProxyConfig, ifVersion: number | undefined): Promise<ProxyConfig> =>
      commit.run(() => {
        const { proxyId } = config;
        const stored = store.get(proxyId);
        if (stored !== undefined && isSame(stored, config)) return stored;
        checkVersion(stored, ifVersion);
        const written = { ...config, version: store.nextVersion(proxyId) };
        store.put(written);
        log('PROXY_CONFIG_STORED', written);
        return written;
      }),
    /** @returns false if there is none @throws ApiError VERSION_CONFLICT */
    delete: (proxyId: string, ifVersion: number | undefined): Promise<boolean> =>
      commit.run(() => {
        const stored = store.get(proxyId);
        if (stored === undefined) return false;
        checkVersion(stored, ifVersion);
        store.delete(proxyId);
        log('PROXY_CONFIG_DELETED', stored);
        return true;
      }),
  };
}

export type ProxyConfigs = ReturnType<typeof createProxyConfigs>;

function isSame(stored: ProxyConfig, config: NewProxyConfig): boolean {
  return canonicalJson(stored) === canonicalJson({ ...config, version: stored.version });
}
