import { stat } from 'node:fs/promises';
import type { Values } from './meters.ts';

/** @returns reads the size of a SQLite database and of its log, in bytes */
export const databaseBytes = (path: string) => async (): Promise<Values<'file'>> => {
  const sizeOf = async (file: string): Promise<number> => (await stat(file)).size;
  return [
    [{ file: 'database' }, await sizeOf(path)],
    // Absent until the first write.
    [{ file: 'wal' }, await sizeOf(`${path}-wal`).catch(() => 0)],
  ];
};
