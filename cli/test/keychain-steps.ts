import { argv, env, stdout } from 'node:process';
import type { Context, ContextSecrets, KeptContext } from '../src/contexts/context.ts';
import { localContextStore } from '../src/contexts/context-store.ts';

// Runs on a bus of its own, for keychain.test.ts; prints what came of each step.

const context: Context = {
  kind: 'agent',
  name: 'reader',
  baseUrl: 'https://svault.example',
  keyPrefix: 'svagent_abcd…',
};
const saved: ContextSecrets = { kind: 'key', key: `svagent_${'k'.repeat(43)}`, sealingKey: { d: 'ü' } };
const store = await localContextStore({ env, signal: new AbortController().signal });
const { findCredentials } = await import('@napi-rs/keyring');
const entries = (): number => findCredentials('svault').length;
const kept = async (name: string): Promise<KeptContext> => {
  const found = (await store.list()).contexts.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

const note = await store.save(context, saved);
if (argv[2] === 'away') {
  stdout.write(JSON.stringify({ note }));
} else {
  const afterSave = entries();
  const read = await store.secretsOf(await kept('reader'));
  const replaced = await store.replaceSecrets(await kept('reader'), async () => ({ ...saved, key: 'next' }));
  const readAgain = await store.secretsOf(await kept('reader'));
  await store.save(context, saved);
  const afterSaveAgain = entries();
  await store.remove('reader');
  const afterRemove = entries();
  await store.save({ ...context, name: 'left' }, saved);
  stdout.write(
    JSON.stringify({
      note,
      saved,
      read,
      replaced,
      readAgain,
      entries: { afterSave, afterSaveAgain, afterRemove },
    }),
  );
}
