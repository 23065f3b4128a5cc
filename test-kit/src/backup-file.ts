import { writeFileSync } from 'node:fs';
import { sealBackup } from '@svault/server-kit/backup-file';
import type { ProgramName } from './pair.ts';

/** Writes a backup that says when it was made; what it holds is no database. */
export async function makeBackupFile(file: string, program: ProgramName, madeAt: Date): Promise<void> {
  writeFileSync(file, 'as if it were SQLite');
  await sealBackup(file, { program, masterKey: new Uint8Array(32), madeAt: madeAt.toISOString() });
}
