import type * as z from 'zod';
import { type ApiClient, apiClient, nothingSchema } from '../api/api-client.ts';
import { type Referred, type Resource, pathOf, referred } from '../api/resource.ts';
import { usage } from '../failure.ts';
import { given, withQuery } from '../json-in.ts';
import type { Invocation, Run } from '../invocation.ts';
import { type Shape, printDone, printList, printOne } from '../output/print.ts';
import { plainLine } from '../output/plain-line.ts';
import { say } from '../output/say.ts';
import { confirm } from '../secret-input/ask.ts';
import { updatedText } from './option-flags.ts';

/** Things of one kind, how the control plane describes one, and how they are printed. */
export interface PrintedResource<T> {
  readonly resource: Resource;
  readonly schema: z.ZodType<T>;
  /** @param all of them, among which a name has to be one's */
  readonly shape: (all: readonly T[]) => Shape<T>;
}

/** Of lists that are searched by name (`NAMED`). */
export interface NamedOptions {
  readonly name?: string;
}

/** `list` of a noun. */
export const listing =
  <T>({ resource, schema, shape }: PrintedResource<T>): Run<[], NamedOptions> =>
  async (invocation, _, { name }) => {
    const client = await apiClient(invocation);
    const items = await client.readAll(withQuery(resource.path, { name }), schema);
    printList(invocation, items, searched(shape(items), resource.one, name));
  };

/** The shape of a list that may have been searched by name. */
export const searched = <T>(shape: Shape<T>, one: string, name: string | undefined): Shape<T> =>
  name === undefined ? shape : { ...shape, none: `no ${one} has a name that contains ${plainLine(name)}` };

/** `show ONE` of a noun. */
export const showing =
  <T>({ resource, schema, shape }: PrintedResource<T>): Run<[reference: string]> =>
  async (invocation, [reference]) => {
    const client = await apiClient(invocation);
    const { id } = await referred(client, resource, reference);
    const item = await client.read(pathOf(resource, id), schema);
    printOne(invocation, item, { ...shape([item]), name: () => reference });
  };

/**
 * `edit ONE` of a noun: changes the members that are given.
 *
 * @param warning what is wrong with the thing as it is now; undefined where nothing is
 * @throws Failure usage where none is given
 */
export const editing =
  <T, Options>(
    { resource, schema }: PrintedResource<T>,
    changes: (
      options: Options,
      invocation: Invocation,
      about: { readonly client: ApiClient; readonly id: string },
    ) => Promise<Readonly<Record<string, unknown>>>,
    warning: (client: ApiClient, edited: T) => Promise<string | undefined> = () => Promise.resolve(undefined),
  ): Run<[reference: string], Options> =>
  async (invocation, [reference], options) => {
    const client = await apiClient(invocation);
    const { id, name } = await referred(client, resource, reference);
    const body = given(await changes(options, invocation, { client, id }));
    if (Object.keys(body).length === 0)
      throw usage(`nothing to change: svault help ${resource.many.replace(' ', '-')} edit lists the options`);
    const answer = await client.change({ method: 'PATCH', path: pathOf(resource, id), body, schema });
    printDone(invocation, { said: updatedText(name, body), answer, name: reference });
    const warned = await warning(client, answer);
    if (warned !== undefined) say(invocation, warned);
  };

/**
 * `rm ONE` of a noun, which asks first.
 * @param words.question and the sentence that is printed, both of what the thing is called
 */
export const removing =
  (
    resource: Resource,
    words: { readonly question: (item: Referred) => string; readonly said: (item: Referred) => string },
  ): Run<[reference: string], { readonly yes?: true }> =>
  async (invocation, [reference], options) => {
    const client = await apiClient(invocation);
    const item = await referred(client, resource, reference);
    await confirm(invocation, words.question(item), options);
    await client.change({ method: 'DELETE', path: pathOf(resource, item.id), schema: nothingSchema });
    printDone(invocation, { said: words.said(item), answer: { ...item, deleted: true }, name: reference });
  };
