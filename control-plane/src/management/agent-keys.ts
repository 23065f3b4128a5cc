import { type Id, fromBase64url, hashKey, keyDisplayPrefix, newKey, toBase64url, utf8 } from '@svault/shared';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { StoredAgentKey } from '../core/agent.ts';

/** What a wrapped key is bound to, so that one copied into another agent's row does not open there. */
const agentKeyPurpose = (agentId: string): string => `agent-key:${agentId}`;

/** A fresh `svagent_` key and the form in which it is kept. */
export function makeAgentKey(
  agentId: Id<'agt'>,
  masterKeys: MasterKeys,
): { readonly apiKey: string; readonly stored: StoredAgentKey } {
  const apiKey = newKey('svagent');
  const keyWrapped = toBase64url(masterKeys.wrap(utf8(apiKey), agentKeyPurpose(agentId)));
  return { apiKey, stored: { keyHash: hashKey(apiKey), keyPrefix: keyDisplayPrefix(apiKey), keyWrapped } };
}

/** @throws AeadFailed when it was wrapped under another master key or for another agent */
export function openAgentKey(agentId: Id<'agt'>, keyWrapped: string, masterKeys: MasterKeys): string {
  const wrapped = fromBase64url(keyWrapped);
  if (wrapped === undefined) throw new TypeError(`the wrapped key of ${agentId} is no base64url`);
  return Buffer.from(masterKeys.unwrap(wrapped, agentKeyPurpose(agentId))).toString('utf8');
}
