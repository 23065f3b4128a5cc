import type { Invocation } from '../invocation.ts';
import type { ActingLogin } from './acting-login.ts';
import type { ContextStore } from './context-store.ts';
import type { ContextSecrets, KeptContext, SessionSecrets } from './context.ts';
import { endsSoon, renewSession } from './session-renewal.ts';

/** A login that is kept on this machine. Its secrets are read when they are needed first. */
export function keptLogin(
  invocation: Invocation,
  store: Pick<ContextStore, 'secretsOf' | 'replaceSecrets'>,
  context: KeptContext,
): ActingLogin {
  let known: ContextSecrets | undefined;
  const secrets = async (): Promise<ContextSecrets> => (known ??= await store.secretsOf(context));
  /** Renews once, even where several calls ask: the second finds the session of the first. */
  const renewWhere = async (isNeeded: (session: SessionSecrets) => boolean): Promise<ContextSecrets> =>
    (known = await store.replaceSecrets(context, async (present) =>
      present.kind === 'session' && isNeeded(present) ? renewSession(invocation, context, present) : present,
    ));

  return {
    context,
    rememberedAs: async () => context.name,
    authorization: async () => {
      const present = await secrets();
      const isOver = (session: SessionSecrets): boolean => endsSoon(session, Date.now());
      return bearer(present.kind === 'session' && isOver(present) ? await renewWhere(isOver) : present);
    },
    renewed: async () => {
      const refused = await secrets();
      if (refused.kind !== 'session') return undefined;
      return bearer(await renewWhere(({ accessToken }) => accessToken === refused.accessToken));
    },
    sealingKey: async () => {
      const present = await secrets();
      return present.kind === 'key' ? present.sealingKey : undefined;
    },
  };
}

const bearer = (secrets: ContextSecrets): string =>
  `Bearer ${secrets.kind === 'session' ? secrets.accessToken : secrets.key}`;
