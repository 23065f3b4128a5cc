import type { CallToolResult } from '@modelcontextprotocol/server';
import { CONTROL_PLANE_ERRORS } from '@svault/shared/error-catalog';
import type { Denial } from '../../access/decision.ts';
import { type ToldApproval, toldOf } from '../../core/approval.ts';
import { APPROVAL_RETRY_SECONDS, approvalRequiredText } from '../../access/approved-use.ts';
import { WEBHOOK_UNAVAILABLE } from '../http/denial-response.ts';
import { toolError } from './tool.ts';

/**
 * The tool error of a denial (specification, "Tool errors"). Each text says what to do next, and is the same for every cause
 * that the caller must not tell apart.
 *
 * @returns undefined for denials that have an HTTP status instead
 */
export function denialResult(denial: Denial): CallToolResult | undefined {
  switch (denial.code) {
    case 'INVALID_SERVICE':
      return toolError(
        'INVALID_ARGUMENT',
        '`service` must be the name of a service: 1 to 128 characters, no "/". list_credentials gives the names.',
      );
    case 'NO_GRANT':
      return toolError(
        'NO_GRANT',
        'This agent has no active grant for this service. list_credentials gives those it has; its owner adds one with svault grant AGENT SERVICE.',
      );
    case 'GRANT_EXPIRED':
    case 'VAULT_LOCKED':
    case 'WEBHOOK_NOT_CONFIGURED':
      return toolError(denial.code, CONTROL_PLANE_ERRORS[denial.code].message);
    case 'POLICY_DENIED': {
      const { policy, rule, reason, approval, retryAfterSeconds: retryAfter } = denial;
      const where = approval === undefined ? '' : ` ${approvalText(approval)}`;
      return toolError('POLICY_DENIED', `Denied by policy ${policy} (${rule}): ${reason}${where}`, {
        retryAfter,
        approval: approval && toldOf(approval),
      });
    }
    case 'APPROVAL_REQUIRED': {
      const { code, approval } = denial;
      return toolError(code, approvalRequiredText(approval), {
        retryAfter: APPROVAL_RETRY_SECONDS,
        approval: approval && toldOf(approval),
      });
    }
    case 'WEBHOOK_UNAVAILABLE':
      return toolError(denial.code, WEBHOOK_UNAVAILABLE, { retryAfter: denial.retryAfterSeconds });
    case 'INVALID_REQUEST':
      return toolError('INVALID_ARGUMENT', denial.message);
    case 'RATE_LIMITED':
      return denial.scope === 'agent_no_grant'
        ? toolError('RATE_LIMITED', 'Too many calls for services without a grant; try again later.', {
            retryAfter: denial.retryAfterSeconds,
          })
        : undefined;
    default:
      return undefined;
  }
}

const approvalText = ({ status, url, expiresAt }: ToldApproval): string =>
  status === 'denied'
    ? `A member denied it: ${url}`
    : `A member can approve it until ${expiresAt}: ${url} Once that is done, call again with the same arguments.`;
