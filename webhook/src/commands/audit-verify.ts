import type { Subcommand } from '@svault/server-kit/program';
import { verifyChain } from '../audit/verify-chain.ts';
import { withVault } from './with-vault.ts';

export const auditVerifyCommand: Subcommand = {
  summary: 'Check the own log for changed, missing or reordered entries.',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ db, auditStore, say }) => {
      // One transaction, so that a running serve cannot move the heads between the two reads.
      const verdict = db.transaction(() => verifyChain(auditStore.epochs(), auditStore.walk()))();
      if (!verdict.ok) {
        say(`the log is broken at epoch ${verdict.epoch}, seq ${verdict.seq}: ${verdict.problem}`);
        return 1;
      }
      const { entries, epochs, head } = verdict;
      say(
        `the log is whole: ${entries} entries in ${epochs} epoch(s); head ${head.epoch} ${head.seq} ${head.hash}`,
      );
      return 0;
    }),
};
