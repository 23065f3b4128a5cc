import type { Bound, Rules } from '../fixtures/rules.ts';
import { startMinimalWebhook } from '../fixtures/minimal.ts';
import { CHECKS } from '../src/registry.ts';
import { loadRequirements } from '../src/requirements.ts';
import { runChecks, type Result } from '../src/runner.ts';
import type { Target } from '../src/target.ts';

export const requirements = loadRequirements();

function targetOf(webhookUrl: string, bound: Bound): Target {
  return { webhookUrl, timeoutMs: 10_000, ...bound };
}

/** Runs the whole suite on a minimal webhook with these rules changed. */
export async function runOnMinimal(bound: Bound, changed: Partial<Rules> = {}): Promise<readonly Result[]> {
  const webhook = await startMinimalWebhook(bound, changed);
  try {
    return await runChecks({ target: targetOf(webhook.url, bound), checks: CHECKS, requirements });
  } finally {
    await webhook.close();
  }
}

/** Ids of the checks that did not pass. */
export function notPassed(results: readonly Result[]): readonly string[] {
  return results.filter(({ outcome }) => outcome.kind !== 'passed').map(({ check }) => check.id);
}
