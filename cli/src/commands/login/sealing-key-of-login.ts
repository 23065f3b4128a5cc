import { type SealingCurve, type SealingKey, createSealingKey, readSealingKey } from '@svault/shared/sealed';
import type { ContextStore } from '../../contexts/context-store.ts';
import type { AgentContext, ContextSecrets, KeptContext, KeySecrets } from '../../contexts/context.ts';
import { failed, orElse, usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { say } from '../../output/say.ts';

/**
 * The key that opens credentials sealed for an agent: the one it had here, since what was sealed to it can be opened
 * with no other; else a new one. An agent had one here if its login has this name or this key.
 * @param curve that it is to be of; undefined: that of the former one, P-256 for a new one
 * @throws Failure usage where the former one is of another curve
 */
export async function agentSealingKey(
  store: ContextStore,
  { name, baseUrl, keyPrefix }: AgentContext,
  key: string,
  curve?: SealingCurve,
): Promise<{ readonly sealingKey: SealingKey; readonly isFormer: boolean }> {
  const { contexts } = await store.list();
  const here = contexts.filter((context) => context.kind === 'agent' && context.baseUrl === baseUrl);
  const ofName = here.filter((context) => context.name === name);
  const ofKey = here.filter((context) => context.kind === 'agent' && context.keyPrefix === keyPrefix);
  for (const context of [...ofName, ...ofKey]) {
    const secrets = await keySecretsOf(store, context);
    if (secrets?.sealingKey !== undefined && (context.name === name || secrets.key === key))
      return { sealingKey: ofCurve(context, readKept(context, secrets.sealingKey), curve), isFormer: true };
  }
  return { sealingKey: createSealingKey(curve), isFormer: false };
}

function ofCurve({ name }: KeptContext, key: SealingKey, curve: SealingCurve | undefined): SealingKey {
  const { crv } = key.publicJwk;
  if (curve === undefined || curve === crv) return key;
  throw usage(
    `the sealing key of ${name} is of ${crv}, and what is sealed to it opens with no other: svault context rm ${name} gives it up`,
  );
}

/** @returns undefined where they are gone. @throws Failure where they may still be there: a new key would not be theirs */
async function keySecretsOf(store: ContextStore, context: KeptContext): Promise<KeySecrets | undefined> {
  const secrets = await orElse<ContextSecrets | undefined>(store.secretsOf(context), (error) => {
    if (error.exit === 'denied') return undefined;
    throw error.saying(
      `${error.message}; its sealing key is there as well, and svault context rm ${context.name} gives it up`,
    );
  });
  return secrets?.kind === 'key' ? secrets : undefined;
}

function readKept({ name }: KeptContext, jwk: NonNullable<KeySecrets['sealingKey']>): SealingKey {
  try {
    return readSealingKey(jwk);
  } catch (error) {
    const message = `the sealing key of ${name} is damaged: svault context rm ${name}, and sign in again`;
    throw failed(message, error);
  }
}

/**
 * What an admin does with the public key, so that credentials reach this agent that the control plane cannot read on the way.
 */
export function saySealingKey(invocation: Invocation, { publicJwk }: SealingKey, isFormer: boolean): void {
  const jwk = JSON.stringify(publicJwk);
  say(invocation, isFormer ? 'its sealing key is the one it had here before' : 'it has a new sealing key');
  say(invocation, 'for credentials that only this login can open, an admin runs:');
  say(invocation, `  svault agents edit AGENT --sealing-key '${jwk}'`);
  say(invocation, `  svault set SERVICE --delivery sealed --recipient '${jwk}'`);
}
