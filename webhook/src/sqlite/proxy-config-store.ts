import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { ProxyConfig } from '@svault/shared/schemas';
import type { ProxyConfigStore } from '../proxy/proxy-configs.ts';
import { versionCounter } from './record-store.ts';

type Row = Omit<ProxyConfig, 'headerTemplates'> & { readonly templates: string };

const SELECT = `SELECT proxy_id AS proxyId, service_name AS serviceName, upstream_url AS upstreamUrl,
  header_templates AS templates, version FROM proxy_configs`;

/** Configurations in table `proxy_configs`, their counters in `versions`. */
export function createProxyConfigStore(db: SqliteDatabase): ProxyConfigStore {
  const get = db.prepare<[string], Row>(`${SELECT} WHERE proxy_id = ?`);
  const page = db.prepare<[string, number], Row>(`${SELECT} WHERE proxy_id > ? ORDER BY proxy_id LIMIT ?`);
  const put = db.prepare<Row>(
    `INSERT OR REPLACE INTO proxy_configs (proxy_id, service_name, upstream_url, header_templates, version)
     VALUES (@proxyId, @serviceName, @upstreamUrl, @templates, @version)`,
  );
  const remove = db.prepare('DELETE FROM proxy_configs WHERE proxy_id = ?');
  return {
    get: (proxyId) => {
      const row = get.get(proxyId);
      return row && toConfig(row);
    },
    page: ({ after, limit }) => page.all(after, limit).map(toConfig),
    nextVersion: versionCounter(db, 'proxy'),
    put: ({ headerTemplates, ...config }) =>
      void put.run({ ...config, templates: JSON.stringify(headerTemplates) }),
    delete: (proxyId) => void remove.run(proxyId),
  };
}

const toConfig = ({ templates, ...config }: Row): ProxyConfig => ({
  ...config,
  headerTemplates: JSON.parse(templates) as Record<string, string>,
});
