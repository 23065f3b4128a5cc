import type { SealingCurve } from '@svault/shared/sealed';
import * as z from 'zod';
import { atControlPlane } from '../../api/api-client.ts';
import { defaultContextName } from '../../contexts/context-name.ts';
import type { AdminContext, AgentContext } from '../../contexts/context.ts';
import { formProblemOf, kindOfKey, shownKey } from '../../contexts/key-form.ts';
import { usage } from '../../failure.ts';
import { endWhereDry } from '../../http/dry-run.ts';
import { sendWithRetries } from '../../http/send-with-retries.ts';
import { send } from '../../http/send.ts';
import { understood } from '../../http/refusal.ts';
import type { Invocation } from '../../invocation.ts';
import { agentSealingKey, saySealingKey } from './sealing-key-of-login.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import { type WantedLogin, checkNameIsFree, keepLogin, printLogin } from './keep-login.ts';

const meSchema = z.looseObject({ email: z.string().max(320) });
const grantsSchema = z.looseObject({ grants: z.array(z.unknown()) });

export const ONLY_AGENTS =
  '--sealing-curve is for the login of an agent, by --key: others have no sealing key';

interface WantedKeyLogin extends WantedLogin {
  /** `-`: stdin. */
  readonly key: string;
  /** Of an agent’s sealing key; undefined: P-256 for a new one. */
  readonly sealingCurve?: SealingCurve | undefined;
}

/** Signs in with a key of an agent or of an admin, which the control plane has to know. */
export async function keyLogin(invocation: Invocation, wanted: WantedKeyLogin): Promise<void> {
  const { key: given, sealingCurve } = wanted;
  const source = given === '-' ? { file: given } : { argument: given };
  const key = (await readSecret(invocation, { question: 'Key', ...source })).trim();
  const kind = kindOfKey(key);
  if (kind === undefined) throw usage(`that ${formProblemOf(key)}`);
  if (kind === 'admin' && sealingCurve !== undefined) throw usage(ONLY_AGENTS);
  await (kind === 'admin' ? adminLogin(invocation, wanted, key) : agentLogin(invocation, wanted, key));
}

async function adminLogin(invocation: Invocation, wanted: WantedLogin, key: string): Promise<void> {
  const { store, baseUrl, wantedName } = wanted;
  const name = wantedName ?? defaultContextName({ kind: 'admin', baseUrl });
  await checkNameIsFree(store, { name, kind: 'admin', baseUrl });
  const { email } = await asked(invocation, { baseUrl, path: '/api/me', key }, meSchema);
  const context: AdminContext = { kind: 'admin', name, baseUrl, email };
  await keepLogin(invocation, store, context, { kind: 'key', key });
  printLogin(invocation, context);
}

async function agentLogin(invocation: Invocation, wanted: WantedKeyLogin, key: string): Promise<void> {
  const { store, baseUrl, wantedName, sealingCurve } = wanted;
  const keyPrefix = shownKey(key);
  const name = wantedName ?? defaultContextName({ kind: 'agent', baseUrl, keyPrefix });
  const context: AgentContext = { kind: 'agent', name, baseUrl, keyPrefix };
  await checkNameIsFree(store, context);
  await asked(invocation, { baseUrl, path: '/api/agents/credentials', key }, grantsSchema);
  const { sealingKey, isFormer } = await agentSealingKey(store, context, key, sealingCurve);
  await keepLogin(invocation, store, context, {
    kind: 'key',
    key,
    sealingKey: { ...sealingKey.privateJwk.reveal() },
  });
  printLogin(invocation, context, sealingKey);
  saySealingKey(invocation, sealingKey, isFormer);
}

async function asked<T>(
  invocation: Invocation,
  { baseUrl, path, key }: { readonly baseUrl: string; readonly path: string; readonly key: string },
  schema: z.ZodType<T>,
): Promise<T> {
  const request = { method: 'GET', url: new URL(baseUrl + path), authorization: `Bearer ${key}` } as const;
  endWhereDry(invocation, request);
  return atControlPlane(invocation, { baseUrl }, async () =>
    understood(await sendWithRetries(invocation, request, send), request.url, schema),
  );
}
