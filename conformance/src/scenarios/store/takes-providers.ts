import { oncePerRun } from '../../check/once-per-run.ts';
import { CheckSkipped } from '../../check/outcome.ts';
import type { Tools } from '../../check/tools.ts';

/**
 * Whether a `JWT` may be stored with a `provider`. Who claims neither way of refreshing may refuse that member, since
 * what cannot be done must not look as if it was (SAV-02, SAV-06); everybody else has to take it. Asked once in a run.
 */
export const takesProviders = oncePerRun(ask);

/** @throws CheckSkipped where none may be stored */
export async function needProviders(tools: Tools): Promise<void> {
  if (!tools.takes({ tokenType: 'JWT' })) throw new CheckSkipped('the webhook does not claim JWT');
  if (!(await takesProviders(tools)))
    throw new CheckSkipped('the webhook claims no way of refreshing, and refuses a provider');
}

async function ask(tools: Tools): Promise<boolean> {
  if (!tools.takes({ tokenType: 'JWT' })) return false;
  if (tools.claims.has('refresh-notify') || tools.claims.has('sv-refresh')) return true;
  const provider = { tokenUrl: 'https://provider.example/token', clientId: 'conformance' };
  const body = { tokenType: 'JWT', accessToken: 'a.b.c', refreshToken: 'canary', provider };
  const { status } = await tools.store(tools.freshName(), body);
  return status !== 400;
}
