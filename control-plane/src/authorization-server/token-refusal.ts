import { isResource } from './authorization-request.ts';

/** Why no tokens are given: RFC 6749 section 5.2 and RFC 8707 section 2; `why` is for the client's developer. */
export interface TokenRefusal {
  readonly refused: 'invalid_grant' | 'invalid_target';
  readonly why: string;
}

export const invalidGrant = (why: string): TokenRefusal => ({ refused: 'invalid_grant', why });

/** @param resource as the client named it; undefined: it named none, and means the one it asked consent for */
export function refusedTarget(resource: string | undefined, audience: string): TokenRefusal | undefined {
  if (resource === undefined || isResource(resource, audience)) return undefined;
  return { refused: 'invalid_target', why: 'the resource is not the one that was approved' };
}
