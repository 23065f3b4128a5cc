import { parseRegistrationLink } from '../src/binding/registration-link.ts';
import type { Check } from '../src/check/check.ts';
import { runChecks } from '../src/runner.ts';
import { SERVICE_URL, startMinimalWebhook } from '../fixtures/minimal.ts';
import { SOUND } from '../fixtures/sound.ts';
import { requirements } from './suite.ts';

/** Binds a sound webhook and runs checks on it. @returns ids of those that failed, SHOULDs too, with what was expected */
export async function failuresOf(variant: string, checks: readonly Check[]): Promise<readonly string[]> {
  const { changed, options } = SOUND[variant] ?? {};
  const { invite, approverLink, close } = await startMinimalWebhook(changed, { ...options, bound: false });
  try {
    const serviceUrl = options?.serviceUrl ?? SERVICE_URL;
    const webhook = parseRegistrationLink(invite(), { timeoutMs: 10_000, serviceUrl });
    const results = await runChecks({
      ...{ webhook, checks, requirements, reusesConnections: true },
      approverLink: async () => approverLink(),
    });
    return results.flatMap(({ check, outcome }) =>
      outcome.kind === 'failed' ? [`${check.id}: ${outcome.expected}`] : [],
    );
  } finally {
    await close();
  }
}
