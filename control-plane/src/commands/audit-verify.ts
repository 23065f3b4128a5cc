import type { Subcommand } from '@svault/server-kit/program';
import { verifyLog } from '../audit/verify.ts';
import { controlPlaneConfig } from '../config/config.ts';
import { withDatabase } from './with-stores.ts';

/** Exit code 1 when a chain does not verify, so that a timer can raise an alarm. */
export const auditVerify: Subcommand = {
  summary: 'follow the hash chain of every account and say where one breaks',
  operands: 0,
  run: async (_operands, { env, out }) =>
    withDatabase(controlPlaneConfig(env), async ({ stores: { audit: log } }) => {
      let broken = 0;
      for (const vaultId of await log.vaultsToVerify()) {
        const verdict = await verifyLog(log, vaultId);
        if (!verdict.intact) broken++;
        const result = verdict.intact
          ? `intact, ${verdict.events} events, head ${verdict.head.hash}`
          : `BROKEN at event ${verdict.seq}: ${verdict.problem}`;
        out(`${vaultId} ${result}\n`);
      }
      return broken === 0 ? 0 : 1;
    }),
};
