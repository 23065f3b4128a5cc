import { type JSONRPCRequest, specTypeSchemas } from '@modelcontextprotocol/server';

/** Enough to find it; what is deeper has names that its sender chose. */
const MAX_NAMES = 4;
const PLAIN_NAME = /^[\w.$/-]{1,40}$/;

/**
 * The first member of a request that does not fit its type of the protocol, as `params.name`.
 *
 * @returns `params` where it cannot be named in a few plain words
 */
export function unfitMember(request: JSONRPCRequest, type: keyof typeof specTypeSchemas): string {
  const result = specTypeSchemas[type]['~standard'].validate(request);
  const issue = result instanceof Promise ? undefined : result.issues?.[0];
  const names = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  const odd = names.findIndex((name) => !PLAIN_NAME.test(name));
  return names.slice(0, odd === -1 ? MAX_NAMES : Math.min(odd, MAX_NAMES)).join('.') || 'params';
}
