import type { GroupCommit } from '@svault/server-kit/group-commit';
import { canonicalJson } from '@svault/server-kit/hash-chain';
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

/** The configurations of proxies, as the control plane wrote them; they hold no secret (PROTOCOL.md section 5.3). */
export interface ProxyConfigs {
  get(proxyId: string): ProxyConfig | undefined;
  list(query: { readonly after: string; readonly limit: number }): readonly ProxyConfig[];
  /**
   * A config equal to the stored one succeeds unchanged with any `ifVersion`, so that a put may be repeated.
   *
   * @param ifVersion 0: there must be none yet
   * @throws ApiError VERSION_CONFLICT
   */
  put(config: NewProxyConfig, ifVersion: number | undefined): Promise<ProxyConfig>;
  /** @returns false if there is none @throws ApiError VERSION_CONFLICT */
  delete(proxyId: string, ifVersion: number | undefined): Promise<boolean>;
}

/** Configurations over their store; every change is one commit with its entry in the log. */
export function createProxyConfigs(deps: {
  readonly store: ProxyConfigStore;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
}): ProxyConfigs {
  const { store, audit, commit } = deps;

  const checkVersion = (stored: ProxyConfig | undefined, ifVersion: number | undefined): void => {
    if (ifVersion === undefined || ifVersion === (stored?.version ?? 0)) return;
    throw new ApiError('VERSION_CONFLICT', 'the proxy has another version');
  };

  return {
    get: (proxyId) => store.get(proxyId),
    list: (query) => store.page(query),
    put: (config, ifVersion) =>
      commit.run(() => {
        const { proxyId, serviceName } = config;
        const stored = store.get(proxyId);
        if (stored !== undefined && isSame(stored, config)) return stored;
        checkVersion(stored, ifVersion);
        const written = { ...config, version: store.nextVersion(proxyId) };
        store.put(written);
        const detail = { version: written.version };
        audit.appendNow({
          eventType: 'PROXY_CONFIG_STORED',
          outcome: 'success',
          proxyId,
          serviceName,
          detail,
        });
        return written;
      }),
    delete: (proxyId, ifVersion) =>
      commit.run(() => {
        const stored = store.get(proxyId);
        if (stored === undefined) return false;
        checkVersion(stored, ifVersion);
        store.delete(proxyId);
        const { serviceName, version } = stored;
        const detail = { version };
        audit.appendNow({
          eventType: 'PROXY_CONFIG_DELETED',
          outcome: 'success',
          proxyId,
          serviceName,
          detail,
        });
        return true;
      }),
  };
}

function isSame(stored: ProxyConfig, config: NewProxyConfig): boolean {
  return canonicalJson(stored) === canonicalJson({ ...config, version: stored.version });
}
