import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type Child, type Ended, startChild } from './child.ts';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));

/** The suite calls a scenario's folder `ROLE-SCENARIO-TIME`. */
const FOLDER = /^(?:server|authorization-server)-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;

/** One check of the public suite, as it writes them. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** Checks that the suite adds to every scenario: whether our messages fit the protocol's own JSON schema. */
const WIRE = new Set(['wire-schema-valid', 'wire-schema-harness-error']);

const PASSED = new Set(['SUCCESS', 'INFO']);

/** All checks of a scenario pass, none does, it made none, or `ID: STATUS` of those that do not pass. */
export type Finding = 'passes' | 'fails' | 'empty' | readonly string[];

/** Scenarios by name, and what does not fit the protocol's schema, as `SCENARIO:ID MESSAGE`. */
interface Findings {
  readonly scenarios: Readonly<Record<string, Finding>>;
  readonly malformed: readonly string[];
}

/** Stands for a scenario that ended without a result. */
const BROKEN_OFF: Check = { id: 'run', status: 'FAILURE', errorMessage: 'broke off' };

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
): Promise<Ended & { readonly findings: Findings }> {
  const home = tempDir();
  const results = join(home.path, 'results');
  const suite = startChild(home.path, SUITE, [...words, '--output-dir', results]);
  try {
    await during?.(suite);
    const ended = await suite.ended;
    return { ...ended, findings: findingsIn(results) };
  } finally {
    await suite.stop();
    home.remove();
  }
}

function findingsIn(results: string): Findings {
  const runs = readdirSync(results).map((folder) => {
    const file = join(results, folder, 'checks.json');
    const checks = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Check[]) : [BROKEN_OFF];
    return { name: FOLDER.exec(folder)?.[1] ?? folder, checks };
  });
  return {
    scenarios: Object.fromEntries(
      runs.map(({ name, checks }) => [name, findingOf(checks.filter(({ id }) => !WIRE.has(id)))]),
    ),
    malformed: runs.flatMap(({ name, checks }) =>
      checks
        .filter(({ id, status }) => WIRE.has(id) && !PASSED.has(status))
        .map(({ id, errorMessage }) => `${name}:${id} ${errorMessage ?? ''}`),
    ),
  };
}

function findingOf(checks: readonly Check[]): Finding {
  const others = checks.filter(({ status }) => !PASSED.has(status));
  const succeeded = checks.some(({ status }) => status === 'SUCCESS');
  if (others.length === 0) return succeeded ? 'passes' : 'empty';
  if (!succeeded) return 'fails';
  return others.map(({ id, status }) => `${id}: ${status}`).toSorted();
}
