import type { ProxyConfig } from '@svault/shared/schemas';

/** Proxies' configurations. Calls are synchronous; writing ones take part in the open transaction. */
export interface ProxyConfigStore {
  get(proxyId: string): ProxyConfig | undefined;
  /** In the order of ids; the first page comes after `''`. */
  page(query: { readonly after: string; readonly limit: number }): readonly ProxyConfig[];
  /** Greater than every version this id ever had, after deletion too. */
  nextVersion(proxyId: string): number;
  /** Writes a config over a former one of its id. */
  put(config: ProxyConfig): void;
  delete(proxyId: string): void;
}
