import type { Subcommand } from '@svault/server-kit/program';
import { controlPlaneConfig } from '../config/config.ts';
import { problemsOfRows } from '../store/check-rows.ts';
import { verifyLogs } from './verify-logs.ts';
import { withDatabase } from './with-database.ts';
import { openWrappedValues } from './wrapped-values.ts';

/**
 * For a database that was just restored. That the root key opens the data encryption key, and that every step of the schema
 * is known, shows as it is opened. Exit code 1 when anything is wrong.
 */
export const verifyDatabase: Subcommand = {
  summary: 'Check a restored database: schema, references, wrapped keys and every log',
  operands: 0,
  run: async (_operands, { env, clock, out }) => {
    const config = controlPlaneConfig(env);
    return withDatabase(config, clock, async ({ kysely, masterKeys, stores }) => {
      const problems = [...(await problemsOfRows(kysely, config.database.kind))];
      if (problems.length === 0) {
        const wrapped = await openWrappedValues(kysely, masterKeys);
        problems.push(...wrapped.problems);
        const broken = await verifyLogs(stores.audit, out);
        if (broken > 0) problems.push(`${broken} logs are broken`);
        out(`${wrapped.values} wrapped values looked at\n`);
      }
      for (const problem of problems) out(`PROBLEM: ${problem}\n`);
      out(problems.length === 0 ? 'The database is consistent.\n' : 'The database is not consistent.\n');
      return problems.length === 0 ? 0 : 1;
    });
  },
};
