import { actingLogin, chosenName, warnOfEnvironment } from '../../contexts/acting-login.ts';
import { type ContextStore, localContextStore, unknownContext } from '../../contexts/context-store.ts';
import type { Context, KeptContext } from '../../contexts/context.ts';
import { forget } from '../login/end-login.ts';
import type { Run } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { type Shape, printDone, printList } from '../../output/print.ts';

/** `context list` */
export const listContexts: Run = async (invocation) => {
  const store = await localContextStore(invocation);
  const { contexts, current } = await store.list();
  // An unknown --context still lists the logins that exist.
  const chosen = chosenName(invocation) ?? current;
  printList(
    invocation,
    contexts.map((context) => shownContext(context, context.name === chosen)),
    contextsShape,
  );
  if (invocation.flags.ctx === undefined) warnOfEnvironment(invocation, chosen ?? '');
};

/** `use`, `context use` */
export const useContext: Run<[string]> = async (invocation, [name]) => {
  const store = await localContextStore(invocation);
  const { kind, baseUrl } = await contextNamed(store, name);
  const where = `${name}: ${kind} at ${baseUrl}`;
  if (invocation.flags.dryRun === true)
    return printDone(invocation, { said: `the current login would be ${where}`, name });
  await store.use(name);
  printDone(invocation, { said: `the current login is ${where}`, name, answer: { name, kind, baseUrl } });
  warnOfEnvironment(invocation, name);
};

/** `context current`: the name of the login that commands act with. */
export const showCurrentContext: Run = async (invocation) => {
  const { name, kind, baseUrl } = (await actingLogin(invocation)).context;
  const { terminal, flags } = invocation;
  terminal.out(flags.format === 'json' ? jsonText({ name, kind, baseUrl }) : `${name}\n`);
};

/** `context rm` */
export const removeContext: Run<[string]> = async (invocation, [name]) => {
  const store = await localContextStore(invocation);
  await forget(invocation, store, await contextNamed(store, name));
};

async function contextNamed(store: ContextStore, name: string): Promise<KeptContext> {
  const { contexts } = await store.list();
  const found = contexts.find((each) => each.name === name);
  if (found === undefined) throw unknownContext(name, contexts);
  return found;
}

type ShownContext = Context & {
  readonly current: boolean;
  readonly secrets: KeptContext['secrets']['home'];
};

/** Without the name of its secrets, which says nothing to anybody. */
const shownContext = ({ secrets, ...context }: KeptContext, current: boolean): ShownContext => ({
  ...context,
  current,
  secrets: secrets.home,
});

const whoActs = (context: Context): string => (context.kind === 'admin' ? context.email : context.keyPrefix);

const contextsShape: Shape<ShownContext> = {
  columns: [
    { title: 'name', of: ({ name }) => name },
    { title: 'current', of: ({ current }) => (current ? '*' : '') },
    { title: 'kind', of: ({ kind }) => kind },
    { title: 'service', of: ({ baseUrl }) => baseUrl },
    { title: 'who', of: whoActs },
    { title: 'secrets', of: ({ secrets }) => secrets, wide: true },
  ],
  name: ({ name }) => name,
  none: 'there is no login yet: svault login',
};
