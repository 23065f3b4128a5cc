import { type ApprovalFacts, type ApprovalOperation, sha256, toBase64url, utf8 } from '@svault/shared';
import type { Match } from './approval-store.ts';

/** What a person decides on of a use. */
export interface Approvable {
  readonly operation: ApprovalOperation;
  /** Whether an allowance may cover it (PROTOCOL.md APR-25). */
  readonly mayStand: boolean;
}

export const CREDENTIAL_USE: Approvable = { operation: { type: 'credential' }, mayStand: true };

/** What a use is found by among those that were approved (PROTOCOL.md APR-30 and APR-31). */
export function matchOf(
  { serviceName, sub }: Pick<ApprovalFacts, 'serviceName' | 'sub'>,
  { operation, mayStand }: Approvable,
): Match {
  const hashOf = (parts: Parts): string =>
    toBase64url(sha256(utf8(JSON.stringify([serviceName, sub, ...parts]))));
  return {
    once: hashOf(onceParts(operation)),
    ...(mayStand && { standing: hashOf(standingParts(operation)) }),
  };
}

type Parts = readonly (string | null)[];

function onceParts(operation: ApprovalOperation): Parts {
  if (operation.type === 'credential') return [operation.type];
  const { type, proxyId, method, url, digest } = operation;
  return [type, proxyId, method, url, digest];
}

function standingParts(operation: ApprovalOperation): Parts {
  if (operation.type === 'credential') return [operation.type];
  const { type, proxyId, method, url, mcp = null, tool = null } = operation;
  const [path = ''] = url.split('?', 1);
  return [type, proxyId, method, path, mcp, tool];
}
