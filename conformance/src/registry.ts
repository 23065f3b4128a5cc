import type { Check } from './check.ts';
import { ADDRESS_CHECKS } from './scenarios/addresses.ts';
import { AUDIT_CHECKS } from './scenarios/audit.ts';
import { BINDING_CHECKS } from './scenarios/binding.ts';
import { BODY_CHECKS } from './scenarios/bodies.ts';
import { CORS_CHECKS } from './scenarios/cors.ts';
import { CREDENTIAL_CHECKS } from './scenarios/credential.ts';
import { CREDENTIAL_TICKET_CHECKS } from './scenarios/credential-tickets.ts';
import { DESTINATION_CHECKS } from './scenarios/destinations.ts';
import { ERROR_CHECKS } from './scenarios/errors.ts';
import { HEALTH_CHECKS } from './scenarios/health.ts';
import { INJECTION_CHECKS } from './scenarios/injection.ts';
import { LEASE_CHECKS } from './scenarios/leases.ts';
import { METHOD_CHECKS } from './scenarios/methods.ts';
import { MINTER_SETTINGS_CHECKS } from './scenarios/minter-settings.ts';
import { MINTING_CALL_CHECKS } from './scenarios/minting-calls.ts';
import { MINTING_CHECKS } from './scenarios/minting.ts';
import { NAME_CHECKS } from './scenarios/names.ts';
import { PROXY_ADMISSION_CHECKS } from './scenarios/proxy-admission.ts';
import { PROXY_ANSWER_CHECKS } from './scenarios/proxy-answers.ts';
import { PROXY_CHECKS } from './scenarios/proxy.ts';
import { PROXY_CONFIG_CHECKS } from './scenarios/proxy-configs.ts';
import { REFRESH_CHECKS } from './scenarios/refresh.ts';
import { REPLAY_CHECKS } from './scenarios/replay.ts';
import { ROTATION_CHECKS } from './scenarios/rotation.ts';
import { SECRECY_CHECKS } from './scenarios/secrecy.ts';
import { SEALED_CHECKS } from './scenarios/sealed.ts';
import { SEALED_RECIPIENT_CHECKS } from './scenarios/sealed-recipients.ts';
import { SHORT_SECRET_CHECKS } from './scenarios/short-secrets.ts';
import { SIGNATURE_COMPONENT_CHECKS } from './scenarios/signature-components.ts';
import { SIGNATURE_DIGEST_CHECKS } from './scenarios/signature-digests.ts';
import { SIGNATURE_HEADER_CHECKS } from './scenarios/signature-headers.ts';
import { SIGNATURE_TARGET_CHECKS } from './scenarios/signature-targets.ts';
import { SIGNATURE_CHECKS } from './scenarios/signatures.ts';
import { STORAGE_CHECKS } from './scenarios/storage.ts';
import { STORE_CHECKS } from './scenarios/store.ts';
import { STREAMING_CHECKS } from './scenarios/streaming.ts';
import { TICKET_CLAIM_CHECKS } from './scenarios/ticket-claims.ts';
import { TICKET_FORM_CHECKS } from './scenarios/ticket-forms.ts';
import { TICKET_USE_CHECKS } from './scenarios/ticket-use.ts';
import { TICKET_CHECKS } from './scenarios/tickets.ts';
import { TOKEN_TYPE_CHECKS } from './scenarios/token-types.ts';
import { TOTP_CHECKS } from './scenarios/totp.ts';
import { TOTP_REFUSAL_CHECKS } from './scenarios/totp-refusals.ts';
import { WRONG_CODE_CHECKS } from './scenarios/wrong-codes.ts';

/** Every check, in the order in which they run and are reported: what changes the key comes last. */
export const CHECKS: readonly Check[] = [
  ...BINDING_CHECKS,
  ...HEALTH_CHECKS,
  ...METHOD_CHECKS,
  ...BODY_CHECKS,
  ...SIGNATURE_HEADER_CHECKS,
  ...SIGNATURE_COMPONENT_CHECKS,
  ...SIGNATURE_TARGET_CHECKS,
  ...SIGNATURE_DIGEST_CHECKS,
  ...SIGNATURE_CHECKS,
  ...REPLAY_CHECKS,
  ...TICKET_FORM_CHECKS,
  ...TICKET_CLAIM_CHECKS,
  ...TICKET_CHECKS,
  ...TICKET_USE_CHECKS,
  ...NAME_CHECKS,
  ...STORE_CHECKS,
  ...CORS_CHECKS,
  ...STORAGE_CHECKS,
  ...PROXY_CONFIG_CHECKS,
  ...AUDIT_CHECKS,
  ...CREDENTIAL_CHECKS,
  ...CREDENTIAL_TICKET_CHECKS,
  ...TOKEN_TYPE_CHECKS,
  ...TOTP_CHECKS,
  ...TOTP_REFUSAL_CHECKS,
  ...SEALED_CHECKS,
  ...SEALED_RECIPIENT_CHECKS,
  ...MINTER_SETTINGS_CHECKS,
  ...MINTING_CALL_CHECKS,
  ...MINTING_CHECKS,
  ...PROXY_CHECKS,
  ...PROXY_ADMISSION_CHECKS,
  ...PROXY_ANSWER_CHECKS,
  ...INJECTION_CHECKS,
  ...SHORT_SECRET_CHECKS,
  ...STREAMING_CHECKS,
  ...DESTINATION_CHECKS,
  ...ADDRESS_CHECKS,
  ...REFRESH_CHECKS,
  ...LEASE_CHECKS,
  ...ERROR_CHECKS,
  ...SECRECY_CHECKS,
  ...ROTATION_CHECKS,
  ...WRONG_CODE_CHECKS,
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
