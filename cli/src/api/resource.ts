import { isId } from '@svault/shared';
import * as z from 'zod';
import { Failure, orElse, usage } from '../failure.ts';
import { withQuery } from '../json-in.ts';
import { unique } from '../one-by-one.ts';
import { listed } from '../output/plain-line.ts';
import type { ApiClient } from './api-client.ts';

/** Things of one kind at the control plane, which people name by a name or by an id. */
export interface Resource {
  /** What one is called: `agent`. */
  readonly one: string;
  /** What several are called, and the command that lists them: `agents`. */
  readonly many: string;
  /** Of their list. */
  readonly path: string;
  /** What ids begin with, where one can be read by its id; without it, an id is looked up in the list. */
  readonly idPrefix?: Parameters<typeof isId>[0];
  /** Whether the list can be searched by name. */
  readonly isSearched?: true;
  /** The member that holds the name. */
  readonly nameMember?: 'name' | 'email' | 'client';
}

/** Which one is meant, and what it is called. */
export interface Referred {
  readonly id: string;
  readonly name: string;
  /** Of kinds that are kept for the record after their end. */
  readonly status?: unknown;
}

/** The name of one that is revoked is free, and may be another's. */
const isLive = ({ status }: Referred): boolean => status !== 'revoked';

/** @param id of one */
export const pathOf = ({ path }: Resource, id: string): string => `${path}/${encodeURIComponent(id)}`;

/**
 * Which one is meant. An id goes before a name, so that nothing can be called by another's id.
 * @param reference an id or a name; under `--dry-run` no request is sent, and a name replaces its id
 * @throws Failure usage for a name that several have, with their ids; notFound
 */
export async function referred(client: ApiClient, resource: Resource, reference: string): Promise<Referred> {
  const { one } = resource;
  if (reference.trim() === '') throw usage(`an empty text names no ${one}; give its name or its id`);
  if (client.dryRun) return { id: reference, name: reference };
  return (await withId(client, resource, reference)) ?? called(client, resource, reference);
}

/** Id and name of one, as a list has it. */
export const namesSchema = ({ nameMember = 'name' }: Resource): z.ZodType<Referred> =>
  z
    .record(z.string(), z.unknown())
    .transform((item) => ({ id: item['id'], name: item[nameMember], status: item['status'] }))
    .pipe(z.object({ id: z.string(), name: z.string(), status: z.unknown() }));

/** Something that is deleted has its id alone: its name may be another's by now. */
async function withId(
  client: ApiClient,
  resource: Resource,
  reference: string,
): Promise<Referred | undefined> {
  const { idPrefix } = resource;
  if (idPrefix === undefined || !isId(idPrefix, reference)) return undefined;
  const read = client.read(pathOf(resource, reference), namesSchema(resource));
  return orElse<Referred | undefined>(read, (error) => {
    if (error.exit !== 'notFound') throw error;
    return undefined;
  });
}

/** What the control plane takes as a name to search for. */
const SEARCHABLE = /^\P{Cc}{1,127}$/u;

async function called(client: ApiClient, resource: Resource, reference: string): Promise<Referred> {
  const { one, many, path, isSearched } = resource;
  const schema = namesSchema(resource);
  if (isSearched === true && SEARCHABLE.test(reference)) {
    const items = await client.readAll(withQuery(path, { name: reference }), schema);
    const found = theOne(resource, items, reference);
    if (found !== undefined) return found;
  }
  // The whole list is for ids that cannot be read, and for names that are alike.
  const items = await client.readAll(path, schema);
  const found = theOne(resource, items, reference);
  if (found !== undefined) return found;
  const alike = unique(items.map(({ name }) => name).filter((name) => looksLike(name, reference)));
  throw new Failure(
    'notFound',
    alike.length === 0
      ? `there is no ${one} ${reference}: svault ${many.replace(' ', '-')} list shows them all`
      : `there is no ${one} ${reference}; did you mean ${listed(alike)}?`,
  );
}

/** Two texts that look the same are the same name, in any Unicode form that a terminal sends. @throws Failure usage */
function theOne({ many }: Resource, items: readonly Referred[], reference: string): Referred | undefined {
  const withThatId = items.find(({ id }) => id === reference);
  if (withThatId !== undefined) return withThatId;
  const wanted = reference.normalize();
  const named = items.filter(({ name }) => name.normalize() === wanted);
  const [first, ...others] = named.some(isLive) ? named.filter(isLive) : named;
  if (first === undefined || others.length === 0) return first;
  throw usage(
    `${1 + others.length} ${many} are called ${reference}; give the id of the one that is meant: ${listed([first, ...others].map(({ id }) => id))}`,
  );
}

function looksLike(name: string, reference: string): boolean {
  const [one, other] = [name.toLowerCase(), reference.toLowerCase()];
  return one.startsWith(other) || other.startsWith(one);
}

/** The names that other commands take: an id stands where they would find another one, or several. */
export function nameOrId(items: readonly Referred[]): (item: Referred) => string {
  const ids = new Set(items.map(({ id }) => id));
  const live = countsOf(items.filter(isLive));
  const all = countsOf(items);
  return (item) => {
    const form = item.name.normalize();
    const found = live.get(form) ?? all.get(form);
    const isFound = found === 1 && (isLive(item) || !live.has(form));
    return isFound && !ids.has(form) ? item.name : item.id;
  };
}

function countsOf(items: readonly Referred[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name } of items) counts.set(name.normalize(), (counts.get(name.normalize()) ?? 0) + 1);
  return counts;
}
