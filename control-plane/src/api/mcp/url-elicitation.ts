import { CLIENT_CAPABILITIES_META_KEY, type JSONRPCRequest } from '@modelcontextprotocol/server';
import { randomToken } from '@svault/shared';
import type { OpenApproval } from '../../core/approval.ts';
import { approvalRequiredText } from '../../access/approved-use.ts';
import type { Denial } from '../../access/decision.ts';
import { approvalIn } from '../../access/approval-waiters.ts';
import type { Served } from './classify-message.ts';

/** A page that a client that can do so opens for its user, after which it calls again. */
export interface UrlElicitation {
  readonly url: string;
  readonly message: string;
  readonly elicitationId: string;
}

const SESSION_PREFIX = 'url-elicitation.';

/**
 * The session id for a client that declares URL elicitation in its handshake: nothing is kept here, so the id says it. It
 * gives no access to anything.
 *
 * @returns undefined for every other request
 */
export function sessionIdFor({ request, classification }: Served): string | undefined {
  if (classification !== undefined || request.method !== 'initialize') return undefined;
  return hasUrlMode(request.params?.['capabilities']) ? SESSION_PREFIX + randomToken(16) : undefined;
}

/**
 * The page of the decision that a denied call waits for.
 *
 * @param sessionId of the request's header
 * @returns undefined where there is none, or the client has not declared that it can open pages, or has opened it already
 */
export function elicitationOf(
  denial: Denial,
  { request, classification }: Served,
  sessionId: string | undefined,
): UrlElicitation | undefined {
  const approval = approvalIn(denial);
  if (approval?.status !== 'pending') return undefined;
  const declares =
    classification === undefined ? sessionId?.startsWith(SESSION_PREFIX) === true : declaredIn(request);
  return declares ? elicitation(approval) : undefined;
}

/** Revision 2026-07-28: each request says what its client can do; the second one brings what the first asked for. */
function declaredIn({ params }: JSONRPCRequest): boolean {
  if (params !== undefined && 'inputResponses' in params) return false;
  return hasUrlMode(memberOf(params?.['_meta'], CLIENT_CAPABILITIES_META_KEY));
}

const hasUrlMode = (capabilities: unknown): boolean => {
  const url = memberOf(memberOf(capabilities, 'elicitation'), 'url');
  return typeof url === 'object' && url !== null;
};

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

const elicitation = (approval: OpenApproval): UrlElicitation => ({
  url: approval.url,
  message: approvalRequiredText(approval),
  elicitationId: approval.id,
});
