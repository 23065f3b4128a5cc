import { chosenContext } from '../contexts/chosen-context.ts';
import type { ContextStore } from '../contexts/context-store.ts';
import { usage } from '../failure.ts';
import { parseBaseUrl } from '../http/service-address.ts';
import type { Invocation } from '../invocation.ts';

/**
 * Address of the service to sign in at: `--base-url`, else SVAULT_BASE_URL, else that of the login with the wanted name, else
 * that of the login that acts now.
 * @throws Failure usage
 */
export async function serviceToSignInAt(
  invocation: Invocation,
  store: ContextStore,
  { baseUrl, as }: { readonly baseUrl?: string | undefined; readonly as?: string | undefined },
): Promise<string> {
  const { SVAULT_BASE_URL: fromEnvironment = '' } = invocation.env;
  if (baseUrl !== undefined) return parseBaseUrl(baseUrl);
  if (fromEnvironment !== '') return parseBaseUrl(fromEnvironment);
  const { contexts } = await store.list();
  const former = contexts.find(({ name }) => name === as) ?? (await chosenContext(invocation, store));
  if (former === undefined) throw usage('where is the service? --base-url https://…, or SVAULT_BASE_URL');
  return former.baseUrl;
}
