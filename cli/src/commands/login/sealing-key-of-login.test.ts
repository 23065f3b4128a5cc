import { SEALING_CURVES as SHARED_CURVES, createSealingKey } from '@svault/shared/sealed';
import { describe, expect, test } from 'vitest';
import type { ContextStore } from '../../contexts/context-store.ts';
import type { AgentContext, ContextSecrets, KeptContext } from '../../contexts/context.ts';
import { Failure } from '../../failure.ts';
import { SEALING_CURVES } from './commands.ts';
import { agentSealingKey } from './sealing-key-of-login.ts';

const KEY = `svagent_abcd${'k'.repeat(39)}`;
const OTHER_KEY = `svagent_abcd${'o'.repeat(39)}`;
const wanted: AgentContext = {
  kind: 'agent',
  name: 'reader',
  baseUrl: 'https://svault.example',
  keyPrefix: 'svagent_abcd…',
};
const former = createSealingKey();
const secrets = { kind: 'key', key: KEY, sealingKey: { ...former.privateJwk.reveal() } } as const;

/** A store with one login. */
const storeOf = (
  context: Partial<AgentContext>,
  secretsOf: () => Promise<ContextSecrets> = async () => secrets,
): ContextStore => {
  const kept: KeptContext = { ...wanted, ...context, secrets: { home: 'keychain', id: 'x' } };
  const no = (): never => expect.fail('nothing else is asked of the store');
  return {
    list: async () => ({ contexts: [kept], current: undefined }),
    secretsOf,
    save: no,
    use: no,
    remove: no,
    replaceSecrets: no,
  };
};

describe('the sealing key stays', () => {
  test.each([
    ['of a login with this name, though its key is another', {}, OTHER_KEY],
    ['of a login with this key, though its name is another', { name: 'writer' }, KEY],
  ])('%s', async (_whose, context, key) => {
    const found = await agentSealingKey(storeOf(context), wanted, key);
    expect(found).toMatchObject({ isFormer: true });
    expect(found.sealingKey.thumbprint).toBe(former.thumbprint);
  });
});

test('the curves that a login takes are all that there are', () => {
  expect(SEALING_CURVES).toEqual(SHARED_CURVES);
});

test.each(SEALING_CURVES)(
  'a new sealing key of %s is made, and a former one of another curve stays',
  async (curve) => {
    const elsewhere = storeOf({ baseUrl: 'https://other.example' });
    const made = await agentSealingKey(elsewhere, wanted, KEY, curve);
    expect(made.sealingKey.publicJwk.crv).toBe(curve);
    const again = agentSealingKey(storeOf({}), wanted, KEY, curve);
    if (curve === 'P-256') expect((await again).isFormer).toBe(true);
    else
      await expect(again).rejects.toMatchObject({
        exit: 'usage',
        message: expect.stringMatching(/sealing key of reader is of P-256.*svault context rm reader/),
      });
  },
);

describe('a new one is made', () => {
  test.each([
    ['where a key only begins in the same way', { name: 'writer' }, OTHER_KEY],
    ['at another control plane', { baseUrl: 'https://other.example' }, KEY],
  ])('%s', async (_where, context, key) => {
    const found = await agentSealingKey(storeOf(context), wanted, key);
    expect(found).toMatchObject({ isFormer: false });
    expect(found.sealingKey.thumbprint).not.toBe(former.thumbprint);
  });

  test('where the former one is gone', async () => {
    const gone = storeOf({}, () => Promise.reject(new Failure('denied', 'gone')));
    expect(await agentSealingKey(gone, wanted, KEY)).toMatchObject({ isFormer: false });
  });
});

test('no key is made where the former one may still exist: credentials sealed to it would be lost', async () => {
  const locked = storeOf({}, () => Promise.reject(new Failure('failed', 'the keychain does not open')));
  await expect(agentSealingKey(locked, wanted, KEY)).rejects.toMatchObject({
    exit: 'failed',
    message: expect.stringMatching(/does not open; its sealing key is there as well.*context rm reader/),
  });
  const damaged = storeOf({}, async () => ({ ...secrets, sealingKey: { kty: 'EC' } }));
  await expect(agentSealingKey(damaged, wanted, KEY)).rejects.toThrow('the sealing key of reader is damaged');
});
