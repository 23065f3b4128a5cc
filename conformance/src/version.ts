import { readFileSync } from 'node:fs';
import * as z from 'zod';

const MANIFEST = new URL('../package.json', import.meta.url);

/** The suite's own. */
export const version = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(MANIFEST, 'utf8'))).version;
