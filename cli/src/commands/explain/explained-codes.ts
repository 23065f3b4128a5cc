import { WEBHOOK_ERROR_STATUS, isWebhookErrorCode } from '@svault/shared';
import { EXIT_CODES, type ExitName } from '../../failure.ts';
import type { ExplainedCode, Refuser } from './explanation.ts';
import { JSON_RPC_ERRORS, OAUTH_ERRORS } from './oauth-errors.ts';
import { SERVICE_ERRORS } from './service-errors.ts';
import { WEBHOOK_ERRORS } from './webhook-errors.ts';
import { EXIT_CODE_REMEDIES } from './exit-code-remedies.ts';

const listed = (
  by: Refuser,
  errors: Readonly<Record<string, Omit<ExplainedCode, 'code' | 'by'>>>,
): readonly ExplainedCode[] => Object.entries(errors).map(([code, error]) => ({ code, by, ...error }));

/** Every code, by who says it: those of the service, the webhook, OAuth and JSON-RPC, and the exit codes of this client. */
export const EXPLAINED_CODES: readonly ExplainedCode[] = [
  ...listed('service', SERVICE_ERRORS),
  ...Object.keys(WEBHOOK_ERRORS)
    .filter(isWebhookErrorCode)
    .map((code): ExplainedCode => ({
      code,
      by: 'webhook',
      statuses: [WEBHOOK_ERROR_STATUS[code]],
      ...WEBHOOK_ERRORS[code],
    })),
  ...listed('oauth', OAUTH_ERRORS),
  ...listed('json-rpc', JSON_RPC_ERRORS),
  ...(Object.keys(EXIT_CODES) as ExitName[]).map((name): ExplainedCode => ({
    code: String(EXIT_CODES[name].code),
    by: 'svault',
    statuses: [],
    meaning: sentence(EXIT_CODES[name].meaning),
    remedy: EXIT_CODE_REMEDIES[name],
  })),
];

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
