import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const BUSY_TIMEOUT_MS = 5_000;
/** More events than any run writes. */
const FAR_AHEAD = 1e12;

/**
 * Holds back the audit log of a pair's control plane from the webhook, so that its shipping can be measured apart: the cursor of
 * what was shipped is put ahead of the log, or to its head.
 * @param dir the pair's
 */
export function createShippingSwitch(dir: string) {
  const db = new DatabaseSync(join(dir, 'control-plane.db'), { timeout: BUSY_TIMEOUT_MS });
  const move = (ahead: number): void =>
    void db.prepare('UPDATE audit_chains SET shipped_seq = head_seq + ?').run(ahead);
  return {
    hold: () => move(FAR_AHEAD),
    release: () => move(0),
    [Symbol.dispose]: () => db.close(),
  };
}
