import type { Id } from '@svault/shared';

/**
 * What two names of one kind must not share within an account: people would take one for the other. Letter case, compatibility
 * forms, white space and invisible characters do not count. Letters of other scripts that look alike do: telling them apart
 * takes tables that change with each Unicode version, and an id names a thing beyond doubt.
 */
export const nameKey = (name: string): string =>
  name
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .toLowerCase()
    .normalize('NFKC');

export interface NameStore {
  /**
   * What agents, proxies and admin keys are called, and the addresses of users, by id. A deleted agent keeps its name; what is
   * gone otherwise has none.
   */
  of(vaultId: Id<'vlt'>, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
