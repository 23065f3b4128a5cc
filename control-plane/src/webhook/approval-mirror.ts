import type { Id } from '@svault/shared';
import { APPROVED_OPERATIONS, type ApprovedOperation, type TokenMetadata } from '@svault/shared/schemas';
import type { TokenStore } from '../core/token.ts';

/** What the records of a webhook need an approval for, as far as it was seen: the webhook is the authority. */
export type ApprovalMirror = ReturnType<typeof createApprovalMirror>;

const textOf = (operations: readonly string[]): string | undefined =>
  APPROVED_OPERATIONS.filter((each) => operations.includes(each)).join(' ') || undefined;

export function createApprovalMirror({
  tokens,
}: {
  readonly tokens: Pick<TokenStore, 'approvals' | 'setApproval'>;
}) {
  const write = async (
    vaultId: Id<'vlt'>,
    wanted: ReadonlyMap<string, (known: readonly string[]) => readonly string[]>,
  ): Promise<void> => {
    const known = await tokens.approvals(vaultId, [...wanted.keys()]);
    for (const [serviceName, operations] of wanted) {
      const before = known.get(serviceName);
      const after = textOf(operations(before?.split(' ') ?? []));
      if (after !== before) await tokens.setApproval(vaultId, serviceName, after);
    }
  };
  return {
    /** That records say so. */
    noteRecords: (
      vaultId: Id<'vlt'>,
      records: Iterable<Pick<TokenMetadata, 'serviceName' | 'approval'>>,
    ): Promise<void> =>
      write(
        vaultId,
        new Map([...records].map(({ serviceName, approval }) => [serviceName, () => approval?.for ?? []])),
      ),
    /** That one operation needs an approval, or none. */
    noteOperation: (
      vaultId: Id<'vlt'>,
      serviceName: string,
      operation: ApprovedOperation,
      isNeeded: boolean,
    ): Promise<void> =>
      write(
        vaultId,
        new Map([
          [
            serviceName,
            (known) => [...known.filter((each) => each !== operation), ...(isNeeded ? [operation] : [])],
          ],
        ]),
      ),
  };
}
