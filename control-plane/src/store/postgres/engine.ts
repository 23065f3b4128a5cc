import { sql } from 'kysely';
import { hashedText } from '../../audit/chain.ts';
import type { Engine } from '../engine.ts';

/** Each function takes the vault's lock first, and in a transaction keeps it to the end (migrations/011-audit.ts). */
export const postgresEngine: Engine = {
  lockForUpdate: async (db, vaultId) => {
    await sql`SELECT svault_hold(${vaultId})`.execute(db);
  },

  writeEvents: async (db, vaultId, events, raisesRevision) => {
    const texts = events.map(hashedText);
    const behind = texts.map(({ behindNumber }) => behindNumber);
    await sql`SELECT svault_record(${vaultId}, ${texts[0]?.beforeNumber}, ${behind}::text[], ${raisesRevision})`.execute(
      db,
    );
  },
};
