import { fromBase64url, hashKey, keyDisplayPrefix, newKey, toBase64url, utf8 } from '@svault/shared';
import type { MasterKeys } from '@svault/server-kit/master-keys';

const KEYS = {
  agt: { prefix: 'svagent', purpose: 'agent-key' },
  prx: { prefix: 'mcp', purpose: 'proxy-key' },
} as const;

type KeyOwner = `${keyof typeof KEYS}_${string}`;

/** Wrapped keys are bound to their owner's id, so that one copied into another row does not unwrap there. */
const purposeOf = (ownerId: KeyOwner): string => `${kindOf(ownerId).purpose}:${ownerId}`;

const kindOf = (ownerId: KeyOwner) => KEYS[ownerId.slice(0, 3) as keyof typeof KEYS];

/** Makes a new key for an agent or a proxy, which an owner can reveal again: its hash finds it, its wrapped form reveals it. */
export function makeStoredKey(ownerId: KeyOwner, masterKeys: MasterKeys) {
  const key = newKey(kindOf(ownerId).prefix);
  const keyWrapped = toBase64url(masterKeys.wrap(utf8(key), purposeOf(ownerId)));
  return { key, stored: { keyHash: hashKey(key), keyPrefix: keyDisplayPrefix(key), keyWrapped } };
}

/** @throws AeadFailed for a key that was wrapped under another root key or for another owner */
export function revealStoredKey(ownerId: KeyOwner, keyWrapped: string, masterKeys: MasterKeys): string {
  const wrapped = fromBase64url(keyWrapped);
  if (wrapped === undefined) throw new TypeError(`the wrapped key of ${ownerId} is no base64url`);
  return Buffer.from(masterKeys.unwrap(wrapped, purposeOf(ownerId))).toString('utf8');
}
