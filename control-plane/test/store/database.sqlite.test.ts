import { ManualClock, newId } from '@svault/shared';
import { silentLogger } from '@svault/server-kit/logger';
import { tempDir } from '@svault/test-kit/temp-dir';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqliteDatabase } from '../../src/store/sqlite/sqlite-database.ts';
import { keyOf } from './open-store.ts';

const NOW = '2026-11-20T12:00:00.000Z';

test('a transaction after a failed commit succeeds', async () => {
  const dir = tempDir();
  const options = { clock: new ManualClock(), logger: silentLogger, opener: 'server' } as const;
  const { unitOfWork, sqlite, close } = await openSqliteDatabase(
    join(dir.path, 'a', 'b.db'),
    [keyOf(1)],
    options,
  );
  const orphan = unitOfWork.runAcross(async ({ loginLinks }) => {
    // The check waits for the commit, and so fails there.
    sqlite.pragma('defer_foreign_keys = ON');
    await loginLinks.add({ tokenHash: 'x', vaultId: newId('vlt'), userId: newId('usr'), expiresAt: NOW });
  });
  await expect(orphan).rejects.toThrow('FOREIGN KEY');
  await unitOfWork.runAcross(({ vaults }) => vaults.add({ id: newId('vlt'), createdAt: NOW }));
  expect(sqlite.prepare('SELECT count(*) FROM vaults').pluck().get()).toBe(1);
  await close();
  dir.remove();
});
