import { type Id, isId } from '@svault/shared';

/** A program that a user may let act as one of their agents. Its name and its page are its own claims. */
export interface OauthClient {
  /** `ocl_…` of a registered client, or the URL of its metadata document. */
  readonly id: string;
  readonly name: string;
  readonly uri: string | undefined;
  readonly redirectUris: readonly string[];
}

/** Whether the client registered itself; others are described by a metadata document. */
export const isRegistered = ({ id }: Pick<OauthClient, 'id'>): boolean => isId('ocl', id);

const MAX_NAME_CHARACTERS = 100;

/**
 * A client's name for display: without control and bidirectional-override characters, on one line, of bounded length.
 *
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

/** Clients belong to no account: registration is open (RFC 7591 section 3). */
export interface OauthClientStore {
  /** @param addressGroup of the registration's address */
  add(client: RegisteredClient, addressGroup: string): Promise<void>;
  find(id: Id<'ocl'>): Promise<RegisteredClient | undefined>;
  /** Records a use, unless one after `notSince` is recorded; the first use always is. */
  touch(id: Id<'ocl'>, usedAt: string, notSince: string): Promise<void>;
  /** Removes clients without a use since a time, and clients without any use that registered before another time. */
  removeUnused(before: { readonly lastUsedAt: string; readonly neverUsedSince: string }): Promise<void>;
  /** Records that a user was shown the consent page for a client without any use. */
  noteAsked(id: Id<'ocl'>, at: string): Promise<void>;
  /** Evicts clients without any use beyond so many bytes, except those shown to a user since a time. */
  evictNeverUsed(bounds: { readonly maxBytes: number; readonly askedSince: string }): Promise<void>;
}
