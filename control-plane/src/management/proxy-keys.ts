import { type Id, fromBase64url, hashKey, keyDisplayPrefix, newKey, toBase64url, utf8 } from '@svault/shared';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { StoredProxyKey } from '../core/proxy.ts';

/** What a wrapped key is bound to, so that one copied into another proxy's row does not open there. */
const proxyKeyPurpose = (proxyId: string): string => `proxy-key:${proxyId}`;

/** A fresh `mcp_` key and the form in which it is kept. */
export function makeProxyKey(
  proxyId: Id<'prx'>,
  masterKeys: MasterKeys,
): { readonly key: string; readonly stored: StoredProxyKey & { readonly keyPrefix: string } } {
  const key = newKey('mcp');
  const keyWrapped = toBase64url(masterKeys.wrap(utf8(key), proxyKeyPurpose(proxyId)));
  return { key, stored: { keyHash: hashKey(key), keyPrefix: keyDisplayPrefix(key), keyWrapped } };
}

/** @throws AeadFailed when it was wrapped under another master key or for another proxy */
export function openProxyKey(proxyId: Id<'prx'>, keyWrapped: string, masterKeys: MasterKeys): string {
  const wrapped = fromBase64url(keyWrapped);
  if (wrapped === undefined) throw new TypeError(`the wrapped key of ${proxyId} is no base64url`);
  return Buffer.from(masterKeys.unwrap(wrapped, proxyKeyPurpose(proxyId))).toString('utf8');
}
