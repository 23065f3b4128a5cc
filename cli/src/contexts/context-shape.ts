import type { Shape } from '../output/print.ts';
import type { KeptContext } from './context-store.ts';
import type { Context } from './context.ts';

/** A login, as it is printed. */
export type ShownContext = Context & {
  /** Whether commands act with it. */
  readonly current: boolean;
  /** Where its secrets are. */
  readonly secrets: KeptContext['secrets']['home'];
};

/** Without the name of its secrets, which says nothing to anybody. */
export const shownContext = ({ secrets, ...context }: KeptContext, current: boolean): ShownContext => ({
  ...context,
  current,
  secrets: secrets.home,
});

/** Whom a login acts as. */
const whoActs = (context: Context): string => (context.kind === 'admin' ? context.email : context.keyPrefix);

export const contextsShape: Shape<ShownContext> = {
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
