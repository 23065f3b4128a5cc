import { SERVICE_URL, startMinimalWebhook } from '../fixtures/minimal.ts';
import { RIGHT, type Rules } from '../fixtures/rules.ts';
import type { Check } from '../src/check/check.ts';
import { CHECKS } from '../src/registry.ts';
import { loadRequirements } from '../src/requirements.ts';
import { runChecks, type Result } from '../src/runner.ts';

export const requirements = loadRequirements();

/** Runs checks, or the whole suite, on a minimal webhook with these rules changed; it was bound before. */
export async function runOnMinimal(
  changed: Partial<Rules> = {},
  checks: readonly Check[] = CHECKS,
): Promise<readonly Result[]> {
  const { url: webhookUrl, binding, restart, approverLink, close } = await startMinimalWebhook(changed);
  try {
    const address = { webhookUrl, serviceUrl: SERVICE_URL, timeoutMs: 10_000 };
    const reuse = { mayReplaceKey: true, reusesConnections: true, restart };
    const approver = { approverLink: async () => approverLink() };
    return await runChecks({ webhook: { address, binding }, checks, requirements, ...reuse, ...approver });
  } finally {
    await close();
  }
}

/** Ids of the checks that did not pass, those aside that are for what the minimal webhook does not claim. */
export function notPassed(results: readonly Result[]): readonly string[] {
  return results
    .filter(
      ({ check, outcome }) => outcome.kind === 'failed' || (outcome.kind === 'skipped' && isClaimed(check)),
    )
    .map(({ check }) => check.id);
}

const isClaimed = (check: Check): boolean =>
  !('claims' in check) || check.claims?.every((each) => RIGHT.capabilities.includes(each)) !== false;
