import { checkedContextName } from '../contexts/context-name.ts';
import { localContextStore } from '../contexts/local-context-store.ts';
import type { SealingCurve } from '@svault/shared/sealed';
import { usage } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { browserLogin } from './browser-login.ts';
import { ONLY_AGENTS, keyLogin } from './key-login.ts';
import { serviceToSignInAt } from './service-to-sign-in-at.ts';

interface Options {
  readonly as?: string;
  readonly key?: string;
  readonly sealingCurve?: SealingCurve;
  readonly launchBrowser: boolean;
  readonly baseUrl?: string;
}

/** `login` */
export const run: Run<[], Options> = async (invocation, _operands, options) => {
  const { as, key, sealingCurve, launchBrowser, baseUrl } = options;
  if (key === undefined && sealingCurve !== undefined) throw usage(ONLY_AGENTS);
  const wantedName = as === undefined ? undefined : checkedContextName(as);
  const store = await localContextStore(invocation);
  const wanted = { store, wantedName, baseUrl: await serviceToSignInAt(invocation, store, { baseUrl, as }) };
  await (key === undefined
    ? browserLogin(invocation, { ...wanted, launchBrowser })
    : keyLogin(invocation, { ...wanted, key, sealingCurve }));
};
