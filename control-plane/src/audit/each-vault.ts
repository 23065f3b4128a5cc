import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';

/**
 * Works through all vaults by their ids, a page at a time; other requests are served between pages.
 *
 * @param options.page vaults by id, only ids above `after`
 * @param options.onError a failure in one account must not stop the work for the others
 */
export async function eachVault<Vault extends { readonly vaultId: Id<'vlt'> }>(options: {
  readonly page: (request: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }) => Promise<readonly Vault[]>;
  readonly limit: number;
  readonly isStopped: () => boolean;
  readonly work: (vault: Vault) => Promise<void>;
  readonly onError: (error: unknown, vault: Vault) => void;
}): Promise<void> {
  const { page: read, limit, isStopped, work, onError } = options;
  let after: Id<'vlt'> | undefined;
  do {
    const page = await read({ after, limit });
    for (const vault of page)
      if (!isStopped()) await work(vault).catch((error: unknown) => onError(error, vault));
    after = page.length < limit ? undefined : page.at(-1)?.vaultId;
    await nextTurn();
  } while (after !== undefined && !isStopped());
}
