import type { ApiClient } from '../../api/api-client.ts';
import { orElse } from '../../failure.ts';
import { type Token, readToken, tokenSchema } from '../tokens/token.ts';
import type { Found } from './inventory.ts';

/**
 * `new`; `unfinished`: registered from here, without a value at the webhook; `stored`: imported from here; `taken`: another
 * credential has the name; `svault`: a key of svault is there; `unknown`: nobody is signed in, or the webhook does not answer.
 */
export type State = 'new' | 'unfinished' | 'stored' | 'taken' | 'svault' | 'unknown';

/** A credential of this machine, and what svault has of it. */
export interface Item extends Found {
  /** Of no other item. */
  readonly name: string;
  readonly state: State;
}

/** What a registered credential has among its notes: a value cannot be compared without reading it, so its origin is. */
export const noteOf = (origin: string): string => `Imported by svault import from ${origin}`;

/**
 * Names each credential and says what is known of it. One that was imported has the name that it got then; the others get the
 * first of their names that no other item has, even where a credential of another origin is called so: that is `taken`.
 * @param client undefined where nothing can be asked
 */
export async function itemsOf(
  client: ApiClient | undefined,
  found: readonly Found[],
): Promise<readonly Item[]> {
  const tokens = client === undefined ? [] : await client.readAll('/api/tokens', tokenSchema);
  const byNote = new Map(
    tokens.flatMap((token) => token.notes.split('\n').map((note) => [note, token] as const)),
  );
  const tokenOfFound = (each: Found): Token | undefined => byNote.get(noteOf(each.origin));
  const used = new Set(found.flatMap((each) => tokenOfFound(each)?.serviceName ?? []));
  const taken = new Set(tokens.map(({ serviceName }) => serviceName));
  const items: Item[] = [];
  for (const each of found) {
    const token = tokenOfFound(each);
    const name = token?.serviceName ?? firstFree(each.names, used);
    used.add(name);
    items.push({ ...each, name, state: await stateOf(each, token, { client, isTaken: taken.has(name) }) });
  }
  return items;
}

async function stateOf(
  { record }: Found,
  token: Token | undefined,
  { client, isTaken }: { readonly client: ApiClient | undefined; readonly isTaken: boolean },
): Promise<State> {
  if (record === undefined) return 'svault';
  if (client === undefined) return 'unknown';
  if (token === undefined) return isTaken ? 'taken' : 'new';
  if (token.webhook !== undefined) return 'stored';
  // The list says nothing of a value where the webhook was slow to answer.
  const read = await orElse<Token | undefined>(readToken(client, token.serviceName), () => undefined);
  if (read === undefined) return 'unknown';
  return read.webhook === undefined ? 'unfinished' : 'stored';
}

/** The first of some names that is not used; else the last one with a number. */
export function firstFree(names: readonly string[], used: ReadonlySet<string>): string {
  const last = names.at(-1) ?? '';
  const free = names.find((name) => !used.has(name));
  for (let number = 2; ; number += 1) {
    if (free !== undefined) return free;
    const numbered = `${last}-${number}`;
    if (!used.has(numbered)) return numbered;
  }
}
