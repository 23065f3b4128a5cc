import { verifyLog } from '../audit/verify.ts';
import type { AuditStore } from '../core/audit-store.ts';

/**
 * Verifies the hash chain of every account and prints a line for each.
 *
 * @returns how many are broken
 */
export async function verifyLogs(log: AuditStore, out: (text: string) => void): Promise<number> {
  let broken = 0;
  for (const vaultId of await log.vaultsToVerify()) {
    const verdict = await verifyLog(log, vaultId);
    if (!verdict.intact) broken++;
    const result = verdict.intact
      ? `intact, ${verdict.events} events, head ${verdict.head.hash}`
      : `BROKEN at event ${verdict.seq}: ${verdict.problem}`;
    out(`${vaultId} ${result}\n`);
  }
  return broken;
}
