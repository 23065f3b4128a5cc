import { type Id, isId } from '@svault/shared';

/** A program that a person may let act as one of their agents. All of it is its own word, but for where it is answered. */
export interface OauthClient {
  /** An id of ours, or the address of its metadata document. */
  readonly id: string;
  /** What it calls itself. */
  readonly name: string;
  /** Its page, as it says. */
  readonly uri: string | undefined;
  readonly redirectUris: readonly string[];
}

/** Whether the client registered itself here; others say by an address where they describe themselves. */
export const isRegistered = ({ id }: Pick<OauthClient, 'id'>): boolean => isId('ocl', id);

const MAX_NAME_CHARACTERS = 100;

/**
 * A client's name, fit to be shown: without control characters and such that turn the direction of what stands beside
 * it, on one line, of bounded length.
 *
 * @param text its own word
 * @returns undefined where nothing is left
 */
export function shownName(text: string): string | undefined {
  const clean = text
    .replaceAll(/\p{C}/gu, ' ')
    .replaceAll(/[\s\p{Z}]+/gu, ' ')
    .trim();
  if (clean === '') return undefined;
  const characters = Array.from(clean);
  return characters.length <= MAX_NAME_CHARACTERS
    ? clean
    : `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join('')}…`;
}

/** A client that registered itself. */
export interface RegisteredClient extends OauthClient {
  readonly id: Id<'ocl'>;
  readonly createdAt: string;
}

/** Clients belong to no account: whoever can reach the service may register one. */
export interface OauthClientStore {
  /** @param addressGroup where the registration came from (`addressGroup`) */
  add(client: RegisteredClient, addressGroup: string): Promise<void>;
  find(id: Id<'ocl'>): Promise<RegisteredClient | undefined>;
  /** Notes a use, unless one was noted after `notSince` already; the first is always noted. */
  touch(id: Id<'ocl'>, usedAt: string, notSince: string): Promise<void>;
  /** Forgets those without a use since a time, and those without any that registered before another. */
  removeUnused(before: { readonly lastUsedAt: string; readonly neverUsedSince: string }): Promise<void>;
  /** Notes that a person is being asked about a client that nobody used yet. */
  noteAsked(id: Id<'ocl'>, at: string): Promise<void>;
  /** Of those that nobody used yet, keeps so many bytes, and all that a person was asked about later than a time. */
  evictNeverUsed(bounds: { readonly maxBytes: number; readonly askedSince: string }): Promise<void>;
}
