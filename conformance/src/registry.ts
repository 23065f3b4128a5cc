import type { Check } from './check/check.ts';
import { ADDRESS_CHECKS } from './scenarios/proxy/addresses.ts';
import { ASKING_CHECKS } from './scenarios/approvals/asking.ts';
import { DECIDING_CHECKS } from './scenarios/approvals/deciding.ts';
import { DIGEST_CHECKS } from './scenarios/approvals/digests.ts';
import { HANDSHAKE_CHECKS } from './scenarios/approvals/handshakes.ts';
import { PAGE_CHECKS } from './scenarios/approvals/pages.ts';
import { USING_CHECKS } from './scenarios/approvals/using.ts';
import { AWS_CHUNKED_CHECKS } from './scenarios/proxy/aws-chunked.ts';
import { AWS_CONFIG_CHECKS } from './scenarios/proxy/aws-configs.ts';
import { AWS_SIGNATURE_CHECKS } from './scenarios/proxy/aws-signatures.ts';
import { AUDIT_CHECKS } from './scenarios/storage/audit.ts';
import { CHECKPOINT_CHECKS } from './scenarios/storage/checkpoints.ts';
import { BIND_PAGE_CHECKS } from './scenarios/binding/bind-page.ts';
import { EXCHANGE_CHECKS } from './scenarios/binding/exchange.ts';
import { BODY_CHECKS } from './scenarios/transport/bodies.ts';
import { JSON_CHECKS } from './scenarios/transport/json.ts';
import { CORS_CHECKS } from './scenarios/store/cors.ts';
import { CREDENTIAL_CHECKS } from './scenarios/credential/delivery.ts';
import { DELIVERY_BY_TYPE_CHECKS } from './scenarios/credential/delivery-by-type.ts';
import { CREDENTIAL_TICKET_CHECKS } from './scenarios/credential/tickets.ts';
import { DESTINATION_CHECKS } from './scenarios/proxy/destinations.ts';
import { STORED_SETTINGS_CHECKS } from './scenarios/proxy/stored-settings.ts';
import { ERROR_CHECKS } from './scenarios/transport/errors.ts';
import { HEALTH_CHECKS } from './scenarios/transport/health.ts';
import { HTTP_ANSWER_CHECKS } from './scenarios/proxy/http-answers.ts';
import { HTTP_CONFIG_CHECKS } from './scenarios/proxy/http-configs.ts';
import { HTTP_FIELD_CHECKS } from './scenarios/proxy/http-fields.ts';
import { HTTP_TARGET_CHECKS } from './scenarios/proxy/http-targets.ts';
import { INJECTION_CHECKS } from './scenarios/proxy/injection.ts';
import { LEASE_CHECKS } from './scenarios/refresh/leases.ts';
import { METHOD_CHECKS } from './scenarios/transport/methods.ts';
import { MINTER_SETTINGS_CHECKS } from './scenarios/minting/settings.ts';
import { MINTING_CALL_CHECKS } from './scenarios/minting/calls.ts';
import { MINTING_CHECKS } from './scenarios/minting/minting.ts';
import { NAME_CHECKS } from './scenarios/transport/names.ts';
import { PROXY_ADMISSION_CHECKS } from './scenarios/proxy/admission.ts';
import { PROXY_ANSWER_CHECKS } from './scenarios/proxy/answers.ts';
import { PROXY_CHECKS } from './scenarios/proxy/calls.ts';
import { PROXY_CONFIG_CHECKS } from './scenarios/storage/proxy-configs.ts';
import { REFRESH_CHECKS } from './scenarios/refresh/refresh.ts';
import { REPLAY_CHECKS } from './scenarios/signatures/replay.ts';
import { MANY_OTHERS_CHECKS } from './scenarios/restart/many-others.ts';
import { RESTART_CHECKS } from './scenarios/restart/restart.ts';
import { REQUEST_RULE_CHECKS } from './scenarios/proxy/request-rules.ts';
import { REQUEST_RULE_FORM_CHECKS } from './scenarios/proxy/request-rule-forms.ts';
import { REQUEST_RULE_LIST_CHECKS } from './scenarios/proxy/request-rules-lists.ts';
import { REQUEST_RULE_MCP_CHECKS } from './scenarios/proxy/request-rules-mcp.ts';
import { REQUEST_RULE_REFRESH_CHECKS } from './scenarios/proxy/request-rules-refresh.ts';
import { ROTATION_CHECKS } from './scenarios/binding/rotation.ts';
import { SETTINGS_BY_TYPE_CHECKS } from './scenarios/store/settings-by-type.ts';
import { SECRECY_CHECKS } from './scenarios/storage/secrecy.ts';
import { SEALED_CHECKS } from './scenarios/credential/sealed.ts';
import { SEALED_RECIPIENT_CHECKS } from './scenarios/credential/sealed-recipients.ts';
import { SHORT_SECRET_CHECKS } from './scenarios/store/short-secrets.ts';
import { SIGNATURE_COMPONENT_CHECKS } from './scenarios/signatures/components.ts';
import { SIGNATURE_DIGEST_CHECKS } from './scenarios/signatures/digests.ts';
import { SIGNATURE_HEADER_CHECKS } from './scenarios/signatures/headers.ts';
import { SIGNATURE_TARGET_CHECKS } from './scenarios/signatures/targets.ts';
import { SIGNATURE_CHECKS } from './scenarios/signatures/keys-and-times.ts';
import { STORAGE_CHECKS } from './scenarios/storage/operations.ts';
import { STORE_CHECKS } from './scenarios/store/tickets.ts';
import { STREAMING_CHECKS } from './scenarios/proxy/streaming.ts';
import { TICKET_CLAIM_CHECKS } from './scenarios/tickets/claims.ts';
import { TICKET_FORM_CHECKS } from './scenarios/tickets/forms.ts';
import { TICKET_USE_CHECKS } from './scenarios/tickets/use.ts';
import { TICKET_CHECKS } from './scenarios/tickets/refusals.ts';
import { TOKEN_TYPE_CHECKS } from './scenarios/credential/token-types.ts';
import { TOTP_CHECKS } from './scenarios/minting/totp.ts';
import { TOTP_REFUSAL_CHECKS } from './scenarios/minting/totp-refusals.ts';
import { EVENT_FORM_CHECKS } from './scenarios/storage/event-forms.ts';
import { VALUE_FORM_CHECKS } from './scenarios/store/value-forms.ts';
import { WRONG_CODE_CHECKS } from './scenarios/binding/wrong-codes.ts';

/** Every check, in the order in which they run and are reported: what changes the key comes last. */
export const CHECKS: readonly Check[] = [
  ...BIND_PAGE_CHECKS,
  ...EXCHANGE_CHECKS,
  ...HEALTH_CHECKS,
  ...METHOD_CHECKS,
  ...JSON_CHECKS,
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
  ...SETTINGS_BY_TYPE_CHECKS,
  ...CORS_CHECKS,
  ...STORAGE_CHECKS,
  ...PROXY_CONFIG_CHECKS,
  ...AUDIT_CHECKS,
  ...CHECKPOINT_CHECKS,
  ...CREDENTIAL_CHECKS,
  ...CREDENTIAL_TICKET_CHECKS,
  ...DELIVERY_BY_TYPE_CHECKS,
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
  ...STORED_SETTINGS_CHECKS,
  ...REQUEST_RULE_FORM_CHECKS,
  ...REQUEST_RULE_CHECKS,
  ...REQUEST_RULE_MCP_CHECKS,
  ...REQUEST_RULE_LIST_CHECKS,
  ...REQUEST_RULE_REFRESH_CHECKS,
  ...HTTP_CONFIG_CHECKS,
  ...HTTP_TARGET_CHECKS,
  ...HTTP_FIELD_CHECKS,
  ...HTTP_ANSWER_CHECKS,
  ...AWS_CONFIG_CHECKS,
  ...AWS_SIGNATURE_CHECKS,
  ...AWS_CHUNKED_CHECKS,
  ...ASKING_CHECKS,
  ...HANDSHAKE_CHECKS,
  ...DIGEST_CHECKS,
  ...DECIDING_CHECKS,
  ...USING_CHECKS,
  ...PAGE_CHECKS,
  ...ADDRESS_CHECKS,
  ...REFRESH_CHECKS,
  ...LEASE_CHECKS,
  ...VALUE_FORM_CHECKS,
  ...EVENT_FORM_CHECKS,
  ...ERROR_CHECKS,
  ...SECRECY_CHECKS,
  ...MANY_OTHERS_CHECKS,
  ...RESTART_CHECKS,
  ...ROTATION_CHECKS,
  ...WRONG_CODE_CHECKS,
];

/** No check has the id, or the area, that was asked for. */
export class UnknownCheck extends Error {
  override readonly name = 'UnknownCheck';
}

const matches = ({ id }: Check, name: string): boolean => id === name || id.startsWith(`${name}.`);

/** What is left out of a choice of checks. */
export interface LeftOut {
  /** Ids or areas. */
  readonly skip?: readonly string[];
  /** All but the first check of each requirement, and those that wait. */
  readonly fast?: boolean;
}

/**
 * Picks checks by id (`ticket.single-use`) or by area (`ticket`), in their own order.
 * @param names none: all
 * @throws UnknownCheck, so that a misspelt name never passes as nothing to do
 */
export function selectChecks(
  names: readonly string[],
  { skip = [], fast = false }: LeftOut = {},
): readonly Check[] {
  for (const name of [...names, ...skip])
    if (!CHECKS.some((check) => matches(check, name))) throw new UnknownCheck(`no check is called ${name}`);
  const named = CHECKS.filter(
    (check) =>
      (names.length === 0 || names.some((name) => matches(check, name))) &&
      !skip.some((name) => matches(check, name)),
  );
  return fast ? firstOfEachRequirement(named.filter((check) => !isWaiting(check))) : named;
}

/** Whether a check takes seconds, most of them idle. */
export const isWaiting = (check: Check): boolean => 'waitsFor' in check;

function firstOfEachRequirement(checks: readonly Check[]): readonly Check[] {
  const observed = new Set<string>();
  return checks.filter(({ requirements }) => {
    const before = observed.size;
    for (const id of requirements) observed.add(id);
    return observed.size > before;
  });
}
