import { readFile } from 'node:fs/promises';
import type { ChainHead } from '@svault/shared/audit-chain';
import * as z from 'zod';
import { writePrivateFile } from '../../contexts/private-file.ts';
import { failed } from '../../failure.ts';
import { jsonIn } from '../../json-in.ts';
import { systemCode, systemReason } from '../../system-reason.ts';

const stateSchema = z.object({ seq: z.int().min(1), hash: z.string().regex(/^[0-9a-f]{64}$/) });

/** How far an export is, in a file. */
export interface ExportState {
  readonly path: string;
  /** @returns the last event that was written; undefined where there is no file yet */
  read(): Promise<ChainHead | undefined>;
  /** Whole or not at all, also where the process is killed or the power fails. */
  write(head: ChainHead): Promise<void>;
}

export const exportState = (path: string): ExportState => ({
  path,
  read: async () => {
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw failed(`${path} cannot be read: ${systemReason(error)}`, error);
    }
    const read = stateSchema.safeParse(jsonIn(text));
    if (!read.success) throw failed(`${path} is no state of an export: give the name of a new file`);
    return read.data;
  },
  write: ({ seq, hash }) => writePrivateFile(path, `${JSON.stringify({ seq, hash })}\n`),
});
