import type { Kysely } from 'kysely';
import type { QuotaNoun, QuotaStore } from '../../core/quotas.ts';
import { countUpTo } from './count-up-to.ts';
import type { Schema } from '../schema/schema.ts';

const TABLES = {
  agents: 'agents',
  tokens: 'tokens',
  grants: 'grants',
  folders: 'folders',
  policies: 'policies',
  proxies: 'proxies',
  members: 'users',
  admin_keys: 'admin_keys',
  providers: 'providers',
} as const satisfies Record<QuotaNoun, keyof Schema>;

export function createQuotaStore(db: Kysely<Schema>): QuotaStore {
  return {
    count: (vaultId, noun, upTo) => {
      if (noun === 'agents') {
        const agents = db.selectFrom('agents').where('vault_id', '=', vaultId);
        return countUpTo(db, agents.where('status', 'in', ['active', 'suspended']), upTo);
      }
      return countUpTo(db, db.selectFrom(TABLES[noun]).where('vault_id', '=', vaultId), upTo);
    },
  };
}
