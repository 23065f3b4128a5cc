import type { Subcommand } from '@svault/server-kit/program';
import { formatTime } from '@svault/shared';
import type { ChainedEntry } from '../audit/audit-store.ts';
import { verifyChain } from '../audit/verify-chain.ts';
import { withVault } from './with-vault.ts';

/** The owner compares the control plane's copies with these on a machine of theirs: `svault audit compare`. */
export const auditExport: Subcommand = {
  summary: 'Write the log of this webhook as JSON lines, and whether it is whole in the last one',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ db, auditStore, clock, say }) => {
      // One transaction, so that a running serve cannot write between the entries and the heads.
      const verdict = db.transaction(() => {
        const entries = written(auditStore.walk(), say);
        const found = verifyChain(auditStore.epochs(), {
          [Symbol.iterator]: () => ({ next: () => entries.next() }),
        });
        // The rest behind a break: a copy without it would seem to be cut.
        while (entries.next().done !== true);
        return found;
      })();
      say(JSON.stringify({ exportedAt: formatTime(clock.now()), verdict }));
      return verdict.ok ? 0 : 1;
    }),
};

function* written(entries: Iterable<ChainedEntry>, say: (line: string) => void): Generator<ChainedEntry> {
  for (const entry of entries) {
    say(lineOf(entry));
    yield entry;
  }
}

/** `detail` as an object; the hash covers its compact JSON as a text. */
function lineOf({ detail, ...entry }: ChainedEntry): string {
  return JSON.stringify({ ...entry, ...(detail !== undefined && { detail: objectIn(detail) }) });
}

function objectIn(detail: string): unknown {
  try {
    return JSON.parse(detail) as unknown;
  } catch {
    // Somebody changed it: the verdict says so.
    return { unreadable: detail };
  }
}
