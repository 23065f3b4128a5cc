import type { Check } from './check.ts';
import { CREDENTIAL_CHECKS } from './scenarios/credential.ts';
import { HEALTH_CHECKS } from './scenarios/health.ts';
import { METHOD_CHECKS } from './scenarios/methods.ts';
import { SIGNATURE_CHECKS } from './scenarios/signatures.ts';
import { TICKET_CHECKS } from './scenarios/tickets.ts';

/** Every check, in the order in which they run and are reported. */
export const CHECKS: readonly Check[] = [
  ...HEALTH_CHECKS,
  ...METHOD_CHECKS,
  ...SIGNATURE_CHECKS,
  ...TICKET_CHECKS,
  ...CREDENTIAL_CHECKS,
];

/** No check has the id, or the area, that was asked for. */
export class UnknownCheck extends Error {
  override readonly name = 'UnknownCheck';
}

/**
 * Picks checks by id (`ticket.single-use`) or by area (`ticket`), in their own order.
 * @param names none: all
 * @throws UnknownCheck, so that a misspelt name never passes as nothing to do
 */
export function selectChecks(names: readonly string[]): readonly Check[] {
  const matches = (check: Check, name: string): boolean =>
    check.id === name || check.id.startsWith(`${name}.`);
  for (const name of names)
    if (!CHECKS.some((check) => matches(check, name))) throw new UnknownCheck(`no check is called ${name}`);
  return names.length === 0 ? CHECKS : CHECKS.filter((check) => names.some((name) => matches(check, name)));
}
