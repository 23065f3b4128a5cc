import type { SealingKey } from '@svault/shared/sealed';
import { warnOfEnvironment } from '../../contexts/acting-login.ts';
import { keptLogin } from '../../contexts/kept-login.ts';
import type { ContextStore } from '../../contexts/context-store.ts';
import type { Context, ContextSecrets } from '../../contexts/context.ts';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { endSession } from './end-login.ts';
import { jsonText } from '../../output/json-text.ts';
import { say } from '../../output/say.ts';

/**
 * A name is not taken from a login at another control plane or of another kind: its keys would be lost by mistake.
 * @throws Failure usage
 */
export async function checkNameIsFree(
  store: ContextStore,
  { name, kind, baseUrl }: Pick<Context, 'name' | 'kind' | 'baseUrl'>,
): Promise<void> {
  const { contexts } = await store.list();
  const former = contexts.find((context) => context.name === name);
  if (former === undefined || (former.kind === kind && former.baseUrl === baseUrl)) return;
  const what = former.kind === 'agent' ? 'an agent’s login' : 'an admin’s login';
  throw usage(
    `${name} is ${what} at ${former.baseUrl}: choose another name by --as, or svault context rm ${name} first`,
  );
}

/** Keeps a new login as the current one, and says so. The session that it takes the place of is ended. */
export async function keepLogin(
  invocation: Invocation,
  store: ContextStore,
  context: Context,
  secrets: ContextSecrets,
): Promise<void> {
  const { contexts } = await store.list();
  const former = contexts.find(({ name }) => name === context.name);
  if (former !== undefined) await endFormer(invocation, store, former);
  const note = await store.save(context, secrets);
  const who = context.kind === 'admin' ? context.email : `agent ${context.keyPrefix}`;
  say(
    invocation,
    `signed in at ${new URL(context.baseUrl).host} as ${who}; this login is called ${context.name}`,
  );
  say(invocation, note);
  warnOfEnvironment(invocation, context.name);
}

async function endFormer(
  invocation: Invocation,
  store: ContextStore,
  former: Parameters<ContextStore['secretsOf']>[0],
): Promise<void> {
  try {
    if ((await store.secretsOf(former)).kind !== 'session') return;
    await endSession(invocation, keptLogin(invocation, store, former));
  } catch {
    // The new login counts; the former session expires by itself.
  }
}

/**
 * What a sign-in prints as data: the public part of an agent's sealing key as one line, with `--format json` the login, and
 * with `--format name` its name.
 */
export function printLogin(
  { terminal, flags }: Pick<Invocation, 'terminal' | 'flags'>,
  context: Context,
  sealingKey?: SealingKey,
): void {
  switch (flags.format) {
    case 'json':
      return terminal.out(
        jsonText({
          ...context,
          ...(sealingKey !== undefined && {
            sealingKey: sealingKey.publicJwk,
            sealingKeyThumbprint: sealingKey.thumbprint,
          }),
        }),
      );
    case 'name':
      return terminal.out(`${context.name}\n`);
    case 'table':
    case 'wide':
      if (sealingKey !== undefined) terminal.out(`${JSON.stringify(sealingKey.publicJwk)}\n`);
  }
}

/** The control plane to sign in at, and the name of the new login. */
export interface WantedLogin {
  readonly store: ContextStore;
  readonly baseUrl: string;
  readonly wantedName: string | undefined;
}
