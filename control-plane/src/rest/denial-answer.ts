import type { ServerResponse } from 'node:http';
import type { Denial, PlainDenialCode } from '../access/decision.ts';
import { ERROR_STATUS } from '../http/errors.ts';

/** What a denied caller reads; the same text for every cause that it must not tell apart. */
const MESSAGES: Readonly<Record<PlainDenialCode, string>> = {
  MISSING_KEY: 'Send the agent key as Authorization: Bearer svagent_… or in x-agent-key.',
  INVALID_KEY: 'This key is malformed or has been revoked. Ask the owner of the agent for its current one.',
  AGENT_INACTIVE: 'This agent is suspended or deleted. If it is suspended, its owner can resume it.',
  MCP_DISABLED: 'MCP is off for this agent. Its owner can switch it on.',
  INVALID_SERVICE: 'The service name is not valid: 1 to 128 characters, no "/", given once.',
  VAULT_LOCKED: 'The vault is locked. An admin of the account can unlock it.',
  NO_GRANT: 'This agent has no active grant for this service. Its owner can make one.',
  GRANT_EXPIRED: 'The grant for this service has expired. The owner of the agent can make a new one.',
  WEBHOOK_NOT_CONFIGURED: 'No webhook is bound to this vault. An admin of the account has to bind one.',
};

interface Prepared {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

/**
 * Writes denials as the specification's "Errors: REST credential endpoint" has them.
 *
 * Those without particulars are built once; `writeHead` with a flat list is Node's cheapest way to send them.
 *
 * @param headers the headers of every answer, flat: name, value, name, value, …
 */
export function createDenialAnswers(
  headers: readonly string[],
): (res: ServerResponse, denial: Denial) => void {
  const prepare = (status: number, content: object, further: readonly string[] = []): Prepared => {
    const body = JSON.stringify(content);
    const length = String(Buffer.byteLength(body));
    return {
      status,
      headers: [
        ...headers,
        'Content-Type',
        'application/json; charset=utf-8',
        'Content-Length',
        length,
        ...further,
      ],
      body,
    };
  };
  const plain = new Map<string, Prepared>(
    Object.entries(MESSAGES).map(([code, error]) => {
      const further = code === 'MISSING_KEY' ? ['WWW-Authenticate', 'Bearer realm="svault"'] : [];
      return [code, prepare(ERROR_STATUS[code as PlainDenialCode], { error, code }, further)];
    }),
  );
  const particular = (denial: Denial): Prepared => {
    const { status, body, retryAfter } = describe(denial);
    const further = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)];
    return prepare(status, body, further);
  };
  return (res, denial) => {
    const { status, headers: head, body } = plain.get(denial.code) ?? particular(denial);
    res.writeHead(status, head as string[]).end(body);
  };
}

/** Status and body of denials with particulars; a `rate_limit` rule's is a 429 and carries `retryAfter`. */
function describe(denial: Denial): {
  readonly status: number;
  readonly body: object;
  readonly retryAfter: number | undefined;
} {
  switch (denial.code) {
    case 'POLICY_DENIED': {
      const { code, policy, rule, reason, retryAfterSeconds: retryAfter } = denial;
      const status = retryAfter === undefined ? ERROR_STATUS.POLICY_DENIED : ERROR_STATUS.RATE_LIMITED;
      const error = `The policy ${policy} does not allow this.`;
      return { status, body: { error, policy, rule, reason, code, retryAfter }, retryAfter };
    }
    case 'RATE_LIMITED':
      return retryLater(denial.code, 'Too many requests; try again later.', denial.retryAfterSeconds);
    case 'WEBHOOK_UNAVAILABLE':
      return retryLater(
        denial.code,
        'The webhook of this vault cannot be reached; try again later.',
        denial.retryAfterSeconds,
      );
    default:
      return {
        status: ERROR_STATUS[denial.code],
        body: { error: MESSAGES[denial.code], code: denial.code },
        retryAfter: undefined,
      };
  }
}

const retryLater = (code: 'RATE_LIMITED' | 'WEBHOOK_UNAVAILABLE', error: string, retryAfter: number) => ({
  status: ERROR_STATUS[code],
  body: { error, code, retryAfter },
  retryAfter,
});
