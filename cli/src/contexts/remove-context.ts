import type { Run } from '../invocation.ts';
import { forget } from './forget.ts';
import { localContextStore, unknownContext } from './local-context-store.ts';

/** `context rm` */
export const run: Run<[string]> = async (invocation, [name]) => {
  const store = await localContextStore(invocation);
  const { contexts } = await store.list();
  const context = contexts.find((each) => each.name === name);
  if (context === undefined) throw unknownContext(name, contexts);
  await forget(invocation, store, context);
};
