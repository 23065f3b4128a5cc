import type { AsyncEntry } from '@napi-rs/keyring';
import { usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';

const SERVICE = 'svault';
const MAX_REASON = 100;

/** There is no keychain here, or it does not open. `message` says why. */
export class KeychainAway extends Error {
  override readonly name = 'KeychainAway';
}

export type Keychain = ReturnType<typeof systemKeychain>;

/**
 * The system's keychain: Secret Service on Linux, Keychain on macOS. Nothing is touched before the first call, and nothing at
 * all with SVAULT_KEYCHAIN=off. Every method throws KeychainAway.
 * @throws Failure usage
 */
export function systemKeychain({ env }: Pick<Invocation, 'env'>) {
  const { SVAULT_KEYCHAIN: choice = '' } = env;
  if (choice !== '' && choice !== 'off') throw usage('SVAULT_KEYCHAIN can be off, or unset');
  const withEntry = async <T>(account: string, action: (entry: AsyncEntry) => Promise<T>): Promise<T> => {
    if (choice === 'off') throw new KeychainAway('SVAULT_KEYCHAIN is off');
    try {
      const { AsyncEntry: Entry } = await import('@napi-rs/keyring');
      // Without this a Linux without Secret Service would use the kernel's keyring, which forgets when the machine stops.
      return await action(new Entry(SERVICE, account, { linux: { store: 'secret-service' } }));
    } catch (error) {
      throw new KeychainAway(reasonOf(error), { cause: error });
    }
  };
  return {
    /** @returns undefined where it holds none */
    read: (account: string) => withEntry(account, async (entry) => (await entry.getPassword()) ?? undefined),
    write: (account: string, secret: string) => withEntry(account, (entry) => entry.setPassword(secret)),
    remove: (account: string) => withEntry(account, async (entry) => void (await entry.deletePassword())),
  };
}

function reasonOf(error: unknown): string {
  const text = plainLine(error instanceof Error ? error.message : String(error));
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON - 1)}…` : text;
}
