import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { ProxyConfig } from '@svault/shared/schemas';
import type { ProxyConfigStore } from '../proxy/proxy-configs.ts';

interface Row {
  readonly proxy_id: string;
  readonly service_name: string;
  readonly upstream_url: string;
  readonly header_templates: string;
  readonly version: number;
}

const COLUMNS = 'proxy_id, service_name, upstream_url, header_templates, version';

/** Configurations in table `proxy_configs`, their counters in `versions`. */
export function createProxyConfigStore(db: SqliteDatabase): ProxyConfigStore {
  const get = db.prepare<[string], Row>(`SELECT ${COLUMNS} FROM proxy_configs WHERE proxy_id = ?`);
  const page = db.prepare<[string, number], Row>(
    `SELECT ${COLUMNS} FROM proxy_configs WHERE proxy_id > ? ORDER BY proxy_id LIMIT ?`,
  );
  const nextVersion = db
    .prepare<[string], number>(
      `INSERT INTO versions (kind, name, last) VALUES ('proxy', ?, 1)
       ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last`,
    )
    .pluck();
  const put = db.prepare(`INSERT OR REPLACE INTO proxy_configs (${COLUMNS}) VALUES (?, ?, ?, ?, ?)`);
  const remove = db.prepare('DELETE FROM proxy_configs WHERE proxy_id = ?');
  return {
    get: (proxyId) => {
      const row = get.get(proxyId);
      return row && toConfig(row);
    },
    page: ({ after, limit }) => page.all(after, limit).map(toConfig),
    nextVersion: (proxyId) => {
      const version = nextVersion.get(proxyId);
      if (version === undefined) throw new Error('the version was not counted');
      return version;
    },
    put: ({ proxyId, serviceName, upstreamUrl, headerTemplates, version }) =>
      void put.run(proxyId, serviceName, upstreamUrl, JSON.stringify(headerTemplates), version),
    delete: (proxyId) => void remove.run(proxyId),
  };
}

function toConfig(row: Row): ProxyConfig {
  return {
    proxyId: row.proxy_id,
    serviceName: row.service_name,
    upstreamUrl: row.upstream_url,
    headerTemplates: JSON.parse(row.header_templates) as Record<string, string>,
    version: row.version,
  };
}
