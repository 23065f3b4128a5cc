import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Role } from './actor.ts';

export interface User {
  readonly id: Id<'usr'>;
  readonly vaultId: Id<'vlt'>;
  /** As `normalizeEmail` leaves it; one account per address. */
  readonly email: string;
  readonly role: Role;
  readonly isOwner: boolean;
  readonly createdAt: string;
}

/** Nothing here finds a user who was removed. */
export interface UserStore {
  add(user: User): Promise<void>;
  get(vaultId: Id<'vlt'>, id: Id<'usr'>): Promise<User | undefined>;
  findByEmail(email: string): Promise<User | undefined>;
  /** Everybody of an account, oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<User>>;
  /** Whose account it is. */
  ownerOf(vaultId: Id<'vlt'>): Promise<User | undefined>;
  /** Owners of all accounts, oldest first; for the operator's subcommands. */
  owners(): Promise<readonly User[]>;
  setEmail(vaultId: Id<'vlt'>, id: Id<'usr'>, email: string): Promise<void>;
  setRole(vaultId: Id<'vlt'>, id: Id<'usr'>, role: Role): Promise<void>;
  /** Keeps the id, since agents and events name it, and lets the address go. */
  markDeleted(vaultId: Id<'vlt'>, id: Id<'usr'>, deletedAt: string): Promise<void>;
}
