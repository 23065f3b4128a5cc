import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of one test's own; `remove` deletes it with all that is in it. */
export function tempDir(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svault-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
