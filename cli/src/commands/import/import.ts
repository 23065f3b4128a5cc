import { shellWord } from '@svault/shared';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { type Failure, failed, orElse, usage } from '../../failure.ts';
import { DryRunDone } from '../../http/dry-run.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { oneByOne, unique } from '../../one-by-one.ts';
import { type Shape, printAnswers, printList } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { agrees } from '../../secret-input/ask.ts';
import { checkedRecord } from '../tokens/checked-record.ts';
import { createWithSecret } from '../tokens/create.ts';
import { replaceSecret } from '../tokens/set.ts';
import { type Found, inventory } from './inventory.ts';
import { type Item, type State, itemsOf, noteOf } from './known.ts';
import { isRewritable, leadToProxy } from './lead-to-proxy.ts';
import { mustBeRewritable } from './rewrite-config.ts';
import { type SourceOptions, sourcesOf } from './sources.ts';

interface Options extends SourceOptions {
  readonly write?: true;
  readonly all?: true;
  readonly as?: string;
  readonly keepConfigs?: true;
}

/** `import [SERVICE…]`: lists what is there; with `--write`, stores it and leads MCP configurations to proxies. */
export const importSecrets: Run<[readonly string[]], Options> = async (invocation, [services], options) => {
  const names = unique(services.map(serviceNameFrom));
  checkOptions(invocation, names, options);
  const found = await inventory(invocation, await sourcesOf(invocation, options));
  if (options.write !== true) return listItems(invocation, chosenBy(await asKnown(invocation, found), names));
  const client = await apiClient(invocation);
  // Under --dry-run nothing is asked, and all count as new.
  const items = await itemsOf(client.dryRun ? undefined : client, found);
  const chosen = await choose(invocation, items, names, options);
  const { done, failure } = await storeAll(invocation, client, chosen, options);
  printAnswers(invocation, done.map(viewOf));
  if (failure !== undefined) throw failure;
};

function checkOptions(
  { terminal }: Invocation,
  names: readonly string[],
  { write, all, as, keepConfigs }: Options,
): void {
  if (write !== true && (all ?? as ?? keepConfigs) !== undefined)
    throw usage('--all, --as and --keep-configs say how something is stored: they go with --write');
  if (all === true && names.length > 0) throw usage('give names or --all, not both');
  if (as !== undefined && names.length !== 1) throw usage('--as renames one: give its name as well');
  const canAsk = terminal.interactive.in && terminal.interactive.err;
  if (write === true && names.length === 0 && all !== true && !canAsk)
    throw usage('say what to store: names that svault import lists, or --all');
}

/** A list needs no login: without one, and where the control plane does not answer, all is of unknown state. */
async function asKnown(invocation: Invocation, found: readonly Found[]): Promise<readonly Item[]> {
  if (invocation.flags.dryRun === true || found.length === 0) return itemsOf(undefined, found);
  const known = apiClient(invocation).then((client) => itemsOf(client, found));
  const items = await orElse<readonly Item[] | undefined>(known, (failure) => {
    if (failure.exit !== 'denied' && failure.exit !== 'unavailable') throw failure;
    say(invocation, `what is stored already is unknown: ${failure.message}`);
    return undefined;
  });
  return items ?? itemsOf(undefined, found);
}

/** @throws Failure usage for a name that none of them has */
function chosenBy(items: readonly Item[], names: readonly string[]): readonly Item[] {
  if (names.length === 0) return items;
  return names.map((name) => {
    const item = items.find((each) => each.name === name);
    if (item === undefined) throw usage(`nothing here is called ${name}: svault import lists the names`);
    return item;
  });
}

/** What `--all` stores, and what a person is asked for. */
const isOpen = (item: Item, options: Options): boolean =>
  item.state === 'new' ||
  item.state === 'unfinished' ||
  item.state === 'unknown' ||
  (item.state === 'stored' && isRewritable(item, options));

async function choose(
  invocation: Invocation,
  items: readonly Item[],
  names: readonly string[],
  options: Options,
): Promise<readonly Item[]> {
  const { all, as } = options;
  if (names.length > 0) {
    const chosen = chosenBy(items, names);
    return as === undefined ? chosen : chosen.map((item) => renamed(item, serviceNameFrom(as)));
  }
  for (const { name, state, file } of items) if (state === 'taken') say(invocation, takenText(name, file));
  const open = items.filter((item) => isOpen(item, options));
  if (open.length === 0) say(invocation, 'there is nothing new to store');
  if (all === true) return open;
  const agreed: Item[] = [];
  for (const item of open)
    if (await agrees(invocation, `Store ${item.name} (${item.file}:${item.line})?`)) agreed.push(item);
  return agreed;
}

/** Another credential, whatever is known of the one that was imported from there. */
const renamed = (item: Item, name: string): Item =>
  item.state === 'svault' ? item : { ...item, name, state: 'new' };

const takenText = (name: string, file: string): string =>
  `${name} is left out: a credential of another origin has that name; svault import --write ${shellWord(name)} --as NAME stores that of ${file} under another one`;

/** Each by itself: what was stored stays, and another run goes on with the others. */
async function storeAll(
  invocation: Invocation,
  client: ApiClient,
  chosen: readonly Item[],
  options: Options,
): Promise<{ readonly done: readonly Item[]; readonly failure: Failure | undefined }> {
  const backups = new Map<string, string>();
  const byName = new Map(chosen.map((item) => [item.name, item]));
  const { done, failure } = await oneByOne(invocation, [...byName.keys()], async (name) => {
    const item = byName.get(name);
    if (item === undefined) throw failed(`${name} is not among them`);
    const rewrites = isRewritable(item, options);
    if (rewrites) await mustBeRewritable(item);
    await untilDry(storeItem(invocation, client, item, rewrites));
    if (rewrites) await leadToProxy(invocation, client, item, backups);
    if (client.dryRun) throw new DryRunDone();
    return { ...item, state: item.state === 'svault' ? item.state : ('stored' as const) };
  });
  sayWhatIsLeft(invocation, done, backups);
  return { done, failure };
}

/** Under `--dry-run` the requests after the first that ends a command are shown, too. */
const untilDry = (stored: Promise<void>): Promise<void> =>
  stored.catch((error: unknown) => {
    if (!(error instanceof DryRunDone)) throw error;
  });

async function storeItem(
  invocation: Invocation,
  client: ApiClient,
  item: Item,
  forProxyAlone: boolean,
): Promise<void> {
  const { name, state, tokenType, record, origin } = item;
  if (record === undefined) return say(invocation, `${item.file}:${item.line} has a key of svault already`);
  if (state === 'stored') return say(invocation, `${name} is stored already`);
  if (state === 'taken') throw failed(takenText(name, item.file));
  const body = checkedRecord({
    ...{ tokenType, ...record.reveal() },
    ...(forProxyAlone && { delivery: 'proxy-only' }),
  });
  if (state === 'new' || client.dryRun) {
    const described = { notes: noteOf(origin) };
    const { said } = await createWithSecret(invocation, client, { name, record: body, described });
    return say(invocation, said);
  }
  const { host } = await replaceSecret(invocation, client, { name, record: body, which: { ifv: 0 } });
  say(invocation, `${name} is stored at ${host}`);
}

function sayWhatIsLeft(
  invocation: Invocation,
  done: readonly Item[],
  backups: ReadonlyMap<string, string>,
): void {
  for (const backup of backups.values())
    say(invocation, `${backup} has the secrets of before: delete it once your client works`);
  const variables = done.filter(
    ({ source, server }) => source.kind === 'env' || (source.kind === 'mcp' && !server),
  );
  const [first] = variables;
  if (first === undefined) return;
  const variable = first.place.split('.').at(-1) ?? '';
  say(
    invocation,
    `programs get these by svault exec --with ${shellWord(`${variable}=${first.name}`)} -- COMMAND; the files still have the values: delete them there once nothing reads them`,
  );
}

function listItems(invocation: Invocation, items: readonly Item[]): void {
  printList(invocation, items.map(viewOf), SHAPE);
  if (items.length === 0 || invocation.flags.format === 'json') return;
  const count = items.filter((item) => isOpen(item, {})).length;
  say(
    invocation,
    count === 0
      ? 'there is nothing new to store'
      : 'nothing was changed; svault import --write NAME… stores some, svault import --write --all stores what is new',
  );
}

/** What is shown of an item: no part of its value. */
const viewOf = (item: Item) => ({
  serviceName: item.name,
  state: item.state,
  kind: item.source.kind,
  file: item.file,
  line: item.line,
  place: item.place,
  tokenType: item.tokenType,
  bytes: item.bytes,
  allowedHosts: item.hosts,
  rewrites: isRewritable(item, {}),
});
type View = ReturnType<typeof viewOf>;

const STATES: Readonly<Record<State, string>> = {
  new: 'new',
  unfinished: 'not stored yet',
  stored: 'stored',
  taken: 'name taken',
  svault: 'uses svault',
  unknown: 'unknown',
};

const SHAPE: Shape<View> = {
  columns: [
    { title: 'name', of: ({ serviceName }) => serviceName },
    {
      title: 'state',
      of: ({ state, rewrites }) => (state === 'stored' && rewrites ? 'stored, config not' : STATES[state]),
      tone: ({ state }) => (state === 'taken' || state === 'unfinished' ? 'yellow' : undefined),
      whole: true,
    },
    { title: 'where', of: ({ file, line }) => `${file}:${line}` },
    { title: 'what', of: ({ place }) => place },
    {
      title: 'size',
      of: ({ bytes, state }) => (state === 'svault' ? '' : `${bytes} B`),
      whole: true,
    },
    { title: 'type', of: ({ tokenType }) => tokenType, wide: true },
    { title: 'hosts', of: ({ allowedHosts }) => allowedHosts.join(', '), wide: true },
    { title: 'rewrites', of: ({ rewrites }) => (rewrites ? 'yes' : ''), wide: true },
  ],
  name: ({ serviceName }) => serviceName,
  none: 'no credentials were found',
};
