import { hash } from 'node:crypto';
import { randomToken, timeOfToken, timeOrderedToken } from './bytes.ts';

/** Prefixes of ids, one for each kind of resource. */
export type IdPrefix =
  | 'agt'
  | 'apr'
  | 'prx'
  | 'prv'
  | 'pol'
  | 'rul'
  | 'fld'
  | 'usr'
  | 'vlt'
  | 'grt'
  | 'evt'
  | 'adk'
  | 'ses'
  | 'clr'
  | 'ocl'
  | 'req'
  | 'whk'
  | 'nch'
  | 'apv';

/** An id that says what it names; ids of different kinds do not mix. */
export type Id<P extends IdPrefix> = `${P}_${string}` & { readonly __brand: P };

/**
 * Kinds of keys a caller shows (specification, "Neutral prefixes"; `svadmin` is the contract's). `svcli` and `svclir`
 * are the access and the refresh token of a signed-in command-line client, `svsessr` is the refresh token beside an
 * `svsess`.
 */
export type KeyPrefix = 'svagent' | 'svsess' | 'svsessr' | 'mcp' | 'svadmin' | 'svcli' | 'svclir';

const ID_BYTES = 16;
const ID_BODY = /^[A-Za-z0-9_-]{22}$/;
const KEY_BYTES = 32;
const KEY_BODY = /^[A-Za-z0-9_-]{43}$/;
const SHOWN_CHARACTERS = 4;

/** A fresh id: the prefix and 128 random bits. */
export function newId<P extends IdPrefix>(prefix: P): Id<P> {
  return `${prefix}_${randomToken(ID_BYTES)}` as Id<P>;
}

/** A new id for frequent rows: the prefix, the time, and 80 random bits. */
export function newTimeOrderedId<P extends IdPrefix>(prefix: P, nowMs: number): Id<P> {
  return `${prefix}_${timeOrderedToken(nowMs)}` as Id<P>;
}

/** When a time-ordered id was made, in milliseconds since 1970. Of any other id it tells nothing. */
export function timeOfId(id: Id<IdPrefix>): number {
  return timeOfToken(id.slice(id.indexOf('_') + 1));
}

/** Whether a text has the form of an id of this kind. Says nothing about whether the thing exists. */
export function isId<P extends IdPrefix>(prefix: P, text: unknown): text is Id<P> {
  return typeof text === 'string' && hasForm(prefix, text, ID_BODY);
}

/** A fresh key: the prefix and 256 random bits, 43 characters. */
export function newKey(prefix: KeyPrefix): string {
  return `${prefix}_${randomToken(KEY_BYTES)}`;
}

/** Whether a text has the form of a key of this kind. */
export function isWellFormedKey(prefix: KeyPrefix, text: string): boolean {
  return hasForm(prefix, text, KEY_BODY);
}

/** The lower-case hex SHA-256 by which a key is stored; a plain hash suffices for 256 random bits. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** What a list may show of a key: `svagent_abcd…`. */
export function keyDisplayPrefix(key: string): string {
  return `${key.slice(0, key.indexOf('_') + 1 + SHOWN_CHARACTERS)}…`;
}

function hasForm(prefix: string, text: string, body: RegExp): boolean {
  return text.startsWith(`${prefix}_`) && body.test(text.slice(prefix.length + 1));
}
