import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type Child, type Ended, startChild } from './child.ts';
import type { Check, SuiteRun } from './suite-verdict.ts';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));

/** The suite calls a scenario's folder `ROLE-SCENARIO-TIME`. */
const FOLDER = /^(?:server|authorization-server)-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;

/** Stands for a scenario that ended without a word. */
const BROKEN_OFF: Check = { id: 'run', status: 'FAILURE', errorMessage: 'broke off' };

export interface SuiteEnded extends Ended {
  readonly run: SuiteRun;
}

/**
 * Runs the public suite to its end.
 *
 * @param words its command and options
 * @param during what somebody does meanwhile
 * @returns its checks, as it wrote them down
 */
export async function runSuite(
  words: readonly string[],
  during?: (suite: Child) => Promise<unknown>,
): Promise<SuiteEnded> {
  const home = tempDir();
  const results = join(home.path, 'results');
  const suite = startChild(home.path, SUITE, [...words, '--output-dir', results]);
  try {
    await during?.(suite);
    const ended = await suite.ended;
    return { ...ended, run: checksIn(results) };
  } finally {
    await suite.stop();
    home.remove();
  }
}

function checksIn(results: string): SuiteRun {
  const folders = readdirSync(results);
  return new Map(
    folders.map((folder) => {
      const file = join(results, folder, 'checks.json');
      const checks = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Check[]) : [BROKEN_OFF];
      return [FOLDER.exec(folder)?.[1] ?? folder, checks];
    }),
  );
}
