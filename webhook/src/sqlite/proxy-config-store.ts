import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { ProxyConfig } from '@svault/shared/schemas';
import type { ProxyConfigStore } from '../proxy/proxy-configs.ts';
import { versionCounter } from './record-store.ts';

type Row = Pick<ProxyConfig, 'proxyId' | 'serviceName' | 'upstreamUrl' | 'version'> & {
  readonly templates: string;
  readonly kind: ProxyConfig['kind'] | null;
  readonly queryTemplates: string | null;
  readonly redirects: ProxyConfig['redirects'] | null;
  readonly signing: string | null;
};

const SELECT = `SELECT proxy_id AS proxyId, service_name AS serviceName, upstream_url AS upstreamUrl,
  header_templates AS templates, kind, query_templates AS queryTemplates, redirects, signing, version FROM proxy_configs`;

/** Configurations in table `proxy_configs`, their counters in `versions`. */
export function createProxyConfigStore(db: SqliteDatabase): ProxyConfigStore {
  const get = db.prepare<[string], Row>(`${SELECT} WHERE proxy_id = ?`);
  const page = db.prepare<[string, number], Row>(`${SELECT} WHERE proxy_id > ? ORDER BY proxy_id LIMIT ?`);
  const put = db.prepare<Row>(
    `INSERT OR REPLACE INTO proxy_configs
       (proxy_id, service_name, upstream_url, header_templates, kind, query_templates, redirects, signing, version)
     VALUES (@proxyId, @serviceName, @upstreamUrl, @templates, @kind, @queryTemplates, @redirects, @signing, @version)`,
  );
  const remove = db.prepare('DELETE FROM proxy_configs WHERE proxy_id = ?');
  return {
    get: (proxyId) => {
      const row = get.get(proxyId);
      return row && toConfig(row);
    },
    page: ({ after, limit }) => page.all(after, limit).map(toConfig),
    nextVersion: versionCounter(db, 'proxy'),
    put: (config) => void put.run(toRow(config)),
    delete: (proxyId) => void remove.run(proxyId),
  };
}

const toRow = ({
  headerTemplates,
  kind,
  queryTemplates,
  redirects,
  signing,
  ...config
}: ProxyConfig): Row => ({
  ...config,
  templates: JSON.stringify(headerTemplates),
  kind: kind ?? null,
  queryTemplates: queryTemplates === undefined ? null : JSON.stringify(queryTemplates),
  redirects: redirects ?? null,
  signing: signing === undefined ? null : JSON.stringify(signing),
});

const toConfig = ({ templates, kind, queryTemplates, redirects, signing, ...config }: Row): ProxyConfig => ({
  ...config,
  headerTemplates: JSON.parse(templates) as Record<string, string>,
  ...(kind !== null && { kind }),
  ...(queryTemplates !== null && { queryTemplates: JSON.parse(queryTemplates) as Record<string, string> }),
  ...(redirects !== null && { redirects }),
  ...(signing !== null && { signing: JSON.parse(signing) as ProxyConfig['signing'] }),
});
