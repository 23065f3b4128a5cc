import type { Run } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { localContextStore, unknownContext } from './local-context-store.ts';
import { sayWhatGoesBefore } from './what-goes-before.ts';

/** `use`, `context use` */
export const run: Run<[string]> = async (invocation, [name]) => {
  const store = await localContextStore(invocation);
  const { contexts } = await store.list();
  const context = contexts.find((each) => each.name === name);
  if (context === undefined) throw unknownContext(name, contexts);
  const { kind, baseUrl } = context;
  const where = `${name}: ${kind} at ${baseUrl}`;
  if (invocation.flags.dryRun === true)
    return printDone(invocation, { said: `the current login would be ${where}`, name });
  await store.use(name);
  printDone(invocation, { said: `the current login is ${where}`, name, answer: { name, kind, baseUrl } });
  sayWhatGoesBefore(invocation, name);
};
