import type { Run } from '../invocation.ts';
import { printList } from '../output/print.ts';
import { chosenName } from './chosen-context.ts';
import { contextsShape, shownContext } from './context-shape.ts';
import { localContextStore } from './local-context-store.ts';
import { sayWhatGoesBefore } from './what-goes-before.ts';

/** `context list` */
export const run: Run = async (invocation) => {
  const store = await localContextStore(invocation);
  const { contexts, current } = await store.list();
  // A name that there is not is no reason to keep those there are from whoever looks for it.
  const chosen = chosenName(invocation) ?? current;
  printList(
    invocation,
    contexts.map((context) => shownContext(context, context.name === chosen)),
    contextsShape,
  );
  if (invocation.flags.ctx === undefined) sayWhatGoesBefore(invocation, chosen ?? '');
};
