import type { TimeFloor } from '../replay/time-floor.ts';
import { type BindingStore, type KeyState, type SecretWrapper, keyPurpose } from './binding-store.ts';

export interface BindingKey {
  /** 32 bytes. */
  readonly secret: Uint8Array;
  readonly state: KeyState;
}

/** The binding as the rest of the webhook sees it. */
export interface Binding {
  /** The audience of tickets. */
  readonly webhookId: string;
  /** The issuer of tickets, byte for byte. */
  readonly serviceBaseUrl: string;
  readonly vaultId: string;
  /** False until the first valid request under the exchanged key. */
  readonly complete: boolean;
  /** undefined for an unknown key, and for a former one whose time is over. */
  keyFor(keyId: string): BindingKey | undefined;
}

/** The binding at this moment; undefined while there is none. */
export type BindingReader = () => Binding | undefined;

interface OpenKey extends BindingKey {
  readonly validUntilMs: number;
}

/**
 * Reads the binding, with its keys unwrapped, and reads it again as soon as anybody changed it: `unseal-bind` in
 * another process takes effect on the next request. In between a request costs no read of a page and no unwrapping.
 */
export function createBindingReader(deps: {
  readonly store: Pick<BindingStore, 'changeMark' | 'binding' | 'keys'>;
  readonly secrets: Pick<SecretWrapper, 'unwrap'>;
  readonly floor: Pick<TimeFloor, 'latestMs'>;
}): BindingReader {
  const { store, secrets, floor } = deps;
  let seenMark: number | undefined;
  let seen: Binding | undefined;

  const read = (): Binding | undefined => {
    const stored = store.binding();
    if (stored === undefined) return undefined;
    const keys = new Map<string, OpenKey>();
    for (const { id, state, wrappedSecret, validUntilMs = Infinity } of store.keys()) {
      keys.set(id, { secret: secrets.unwrap(wrappedSecret, keyPurpose(id)), state, validUntilMs });
    }
    return {
      ...stored,
      keyFor: (keyId) => {
        const key = keys.get(keyId);
        return key !== undefined && floor.latestMs() < key.validUntilMs ? key : undefined;
      },
    };
  };

  return () => {
    const mark = store.changeMark();
    if (mark !== seenMark) {
      seen = read();
      seenMark = mark;
    }
    return seen;
  };
}
