import type { Id } from '@svault/shared';
import type { Role } from './actor.ts';

export interface User {
  readonly id: Id<'usr'>;
  readonly vaultId: Id<'vlt'>;
  /** Lower case; one account per address. */
  readonly email: string;
  readonly role: Role;
  readonly isOwner: boolean;
  readonly createdAt: string;
}

export interface UserStore {
  add(user: User): Promise<void>;
  get(vaultId: Id<'vlt'>, id: Id<'usr'>): Promise<User | undefined>;
  findByEmail(email: string): Promise<User | undefined>;
  /** Owners of all accounts, oldest first; for the operator's subcommands. */
  owners(): Promise<readonly User[]>;
  setEmail(vaultId: Id<'vlt'>, id: Id<'usr'>, email: string): Promise<void>;
}
