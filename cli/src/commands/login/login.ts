import type { SealingCurve } from '@svault/shared/sealed';
import { chosenContext } from '../../contexts/acting-login.ts';
import { checkedContextName } from '../../contexts/context-name.ts';
import { type ContextStore, localContextStore } from '../../contexts/context-store.ts';
import { usage } from '../../failure.ts';
import { parseBaseUrl } from '../../http/service-address.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { browserLogin } from './browser-login.ts';
import { ONLY_AGENTS, keyLogin } from './key-login.ts';

interface Options {
  readonly as?: string;
  readonly key?: string;
  readonly sealingCurve?: SealingCurve;
  readonly launchBrowser: boolean;
  readonly baseUrl?: string;
}

/** `login` */
export const login: Run<[], Options> = async (invocation, _operands, options) => {
  const { as, key, sealingCurve, launchBrowser, baseUrl } = options;
  if (key === undefined && sealingCurve !== undefined) throw usage(ONLY_AGENTS);
  const wantedName = as === undefined ? undefined : checkedContextName(as);
  const store = await localContextStore(invocation);
  const wanted = { store, wantedName, baseUrl: await serviceToSignInAt(invocation, store, { baseUrl, as }) };
  await (key === undefined
    ? browserLogin(invocation, { ...wanted, launchBrowser })
    : keyLogin(invocation, { ...wanted, key, sealingCurve }));
};

/**
 * Address of the control plane to sign in at: `--base-url`, else SVAULT_BASE_URL, else that of the login with the wanted name,
 * else that of the login that acts now.
 * @throws Failure usage
 */
async function serviceToSignInAt(
  invocation: Invocation,
  store: ContextStore,
  { baseUrl, as }: { readonly baseUrl?: string | undefined; readonly as?: string | undefined },
): Promise<string> {
  const { SVAULT_BASE_URL: fromEnvironment = '' } = invocation.env;
  if (baseUrl !== undefined) return parseBaseUrl(baseUrl);
  if (fromEnvironment !== '') return parseBaseUrl(fromEnvironment);
  const { contexts } = await store.list();
  const former = contexts.find(({ name }) => name === as) ?? (await chosenContext(invocation, store));
  if (former === undefined)
    throw usage('where is the control plane? --base-url https://…, or SVAULT_BASE_URL');
  return former.baseUrl;
}
