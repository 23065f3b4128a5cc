import type { ServerResponse } from 'node:http';
import { CONTROL_PLANE_ERRORS } from '@svault/shared/error-catalog';
import { requestIdOf } from '@svault/server-kit/request-id';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { traceCode } from '@svault/server-kit/tracing';
import { type Denial, PLAIN_CODES, type PlainDenialCode } from '../../access/decision.ts';
import { toldOf } from '../../core/approval.ts';
import { APPROVAL_RETRY_SECONDS, approvalRequiredText } from '../../access/approved-use.ts';
import { ERROR_STATUS } from './errors.ts';

/** The text for the caller; the same for every cause that the caller must not tell apart. */
const MESSAGES = Object.fromEntries(
  PLAIN_CODES.map((code) => [code, CONTROL_PLANE_ERRORS[code].message]),
) as DenialMessages;

type DenialMessages = Readonly<Record<PlainDenialCode, string>>;

/** {@link MESSAGES} with those that a channel words otherwise. */
export const denialMessages = (own: Partial<DenialMessages>): DenialMessages => ({ ...MESSAGES, ...own });

/**
 * Writes denials as the specification's "Errors: REST credential endpoint" has them; the proxy endpoint's plain ones are the
 * same, and each has the request's id last.
 *
 * Those without particulars are built once.
 *
 * @param headers the headers of every response, flat: name, value, name, value, …
 * @param options.webhookUnavailable the status of that code, 503 unless given
 * @param options.challenge the challenge of a 401 without a key (RFC 9110 section 11.6.1), that of Bearer unless given
 */
export function createDenialWriter(
  headers: readonly string[],
  options: {
    readonly messages?: DenialMessages;
    readonly webhookUnavailable?: 502;
    readonly challenge?: string;
  } = {},
): (res: ServerResponse, denial: Denial) => void {
  const { messages = MESSAGES, webhookUnavailable = ERROR_STATUS.WEBHOOK_UNAVAILABLE } = options;
  const { challenge = 'Bearer realm="svault"' } = options;
  const prepare = (status: number, content: object, further: readonly string[] = []): Prepared => ({
    status,
    headers: [...headers, ...JSON_CONTENT, ...further],
    begun: JSON.stringify(content).slice(0, -1),
  });
  const plain = new Map<string, Prepared>(
    Object.entries(messages).map(([code, error]) => {
      const further = code === 'MISSING_KEY' ? ['WWW-Authenticate', challenge] : [];
      return [code, prepare(ERROR_STATUS[code as PlainDenialCode], { error, code }, further)];
    }),
  );
  const particular = (denial: ParticularDenial): Prepared => {
    const { status, body } = describe(denial, webhookUnavailable);
    const { retryAfter } = body;
    return prepare(status, body, retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]);
  };
  return (res, denial) => {
    traceCode(res.req, denial.code);
    const { begun, ...head } = plain.get(denial.code) ?? particular(denial as ParticularDenial);
    respond(res, { ...head, body: `${begun},"requestId":"${requestIdOf(res.req)}"}` });
  };
}

interface Prepared {
  readonly status: number;
  readonly headers: readonly string[];
  /** The body without the request's id and its last brace. */
  readonly begun: string;
}

type ParticularDenial = Exclude<Denial, { readonly code: PlainDenialCode }>;

interface DenialBody {
  readonly error: string;
  readonly code: string;
  readonly retryAfter: number | undefined;
  readonly [further: string]: unknown;
}

/** Status and body of denials with particulars; a `rate_limit` rule's is a 429 and carries `retryAfter`. */
function describe(
  denial: ParticularDenial,
  webhookUnavailable: number,
): { readonly status: number; readonly body: DenialBody } {
  switch (denial.code) {
    case 'POLICY_DENIED': {
      const { code, policy, rule, reason, approval, retryAfterSeconds: retryAfter } = denial;
      const status = retryAfter === undefined ? ERROR_STATUS.POLICY_DENIED : ERROR_STATUS.RATE_LIMITED;
      const told = approval && toldOf(approval);
      const about = { policy, rule, reason, approval: told };
      return { status, body: { error: policyDenied(denial), ...about, code, retryAfter } };
    }
    case 'APPROVAL_REQUIRED': {
      const { code, approval } = denial;
      const told = approval && toldOf(approval);
      return {
        status: ERROR_STATUS[code],
        body: {
          error: approvalRequiredText(approval),
          approval: told,
          code,
          retryAfter: APPROVAL_RETRY_SECONDS,
        },
      };
    }
    case 'RATE_LIMITED':
      return {
        status: ERROR_STATUS.RATE_LIMITED,
        body: { error: TOO_MANY, code: denial.code, retryAfter: denial.retryAfterSeconds },
      };
    case 'FORBIDDEN':
    case 'INVALID_REQUEST': {
      const { code, message: error } = denial;
      return { status: ERROR_STATUS[code], body: { error, code, retryAfter: undefined } };
    }
    case 'WEBHOOK_UNAVAILABLE':
      return {
        status: webhookUnavailable,
        body: { error: WEBHOOK_UNAVAILABLE, code: denial.code, retryAfter: denial.retryAfterSeconds },
      };
  }
}

export const TOO_MANY = 'Too many requests; try again later.';
export const policyDenied = ({
  policy,
  reason,
}: {
  readonly policy: string;
  readonly reason: string;
}): string => `Denied by policy ${policy}: ${reason}`;
export const WEBHOOK_UNAVAILABLE =
  'The webhook of this vault cannot be reached. Try again later; its owner looks with svault webhook status.';
