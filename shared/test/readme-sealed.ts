import { createSealingKey, openSealed, readSealingKey } from '@svault/shared/sealed';

/** Once. The thumbprint becomes the agent's `sealingKeyThumbprint`, the public key one of a record's `recipients`. */
export function makeKey(keep: (privateJwk: string) => void) {
  const key = createSealingKey();
  keep(JSON.stringify(key.privateJwk.reveal()));
  return { thumbprint: key.thumbprint, publicJwk: key.publicJwk };
}

/** Each time. What comes over the network can be read with the private key alone. */
export async function fetchSealed(baseUrl: string, agentKey: string, privateJwk: string): Promise<string> {
  const response = await fetch(`${baseUrl}/api/agents/credentials?service=github`, {
    headers: { authorization: `Bearer ${agentKey}` },
  });
  if (response.headers.get('content-type') !== 'application/jose') throw new Error('this is not sealed');
  const envelope = await openSealed(await response.text(), readSealingKey(JSON.parse(privateJwk)));
  return envelope.reveal().token.accessToken;
}
