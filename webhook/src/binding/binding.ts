import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { BindingCodes } from './binding-codes.ts';
import {
  type BindingStore,
  type KeyState,
  type SecretWrapper,
  type StoredBinding,
  keyPurpose,
} from './binding-store.ts';

interface BindingKey {
  /** 32 bytes. */
  readonly secret: Uint8Array;
  readonly state: KeyState;
}

/** The binding as the rest of the webhook sees it. */
interface Binding extends StoredBinding {
  /** undefined for an unknown key and for an expired former one. */
  keyFor(keyId: string): BindingKey | undefined;
}

/** The binding at this moment; undefined while there is none. */
export type BindingReader = () => Binding | undefined;

/**
 * Reads the binding with its keys unwrapped, and again after each change: `unseal-bind` in another process takes
 * effect on the next request. Between changes a request reads no page and unwraps no key.
 *
 * @param deps.latestMs the later of wall clock and time floor, milliseconds since 1970
 */
export function createBindingReader(deps: {
  readonly bindings: Pick<BindingStore, 'changeMark' | 'binding' | 'keys'>;
  readonly secrets: Pick<SecretWrapper, 'unwrap'>;
  readonly latestMs: () => number;
}): BindingReader {
  const { bindings, secrets, latestMs } = deps;
  let seenMark: number | undefined;
  let seen: Binding | undefined;

  const read = (): Binding | undefined => {
    const stored = bindings.binding();
    if (stored === undefined) return undefined;
    const keys = new Map(
      bindings
        .keys()
        .map(({ id, state, wrappedSecret, validUntilMs }) => [
          id,
          { secret: secrets.unwrap(wrappedSecret, keyPurpose(id)), state, untilMs: validUntilMs ?? Infinity },
        ]),
    );
    return {
      ...stored,
      keyFor: (keyId) => {
        const key = keys.get(keyId);
        return key !== undefined && latestMs() < key.untilMs ? key : undefined;
      },
    };
  };

  return () => {
    const mark = bindings.changeMark();
    if (mark !== seenMark) {
      seen = read();
      seenMark = mark;
    }
    return seen;
  };
}

/** Erases the former key after its ten minutes, and the secret of a registration code after its five. */
export async function eraseExpiredKeys(deps: {
  readonly bindings: Pick<BindingStore, 'keys' | 'code' | 'eraseFormerKey' | 'endCode'>;
  readonly codes: Pick<BindingCodes, 'isExpired'>;
  readonly latestMs: () => number;
  readonly commit: GroupCommit;
}): Promise<void> {
  const { bindings, codes, latestMs, commit } = deps;
  await commit.run(() => {
    const former = bindings.keys().find(({ state }) => state === 'former');
    if ((former?.validUntilMs ?? Infinity) <= latestMs()) bindings.eraseFormerKey();
    const code = bindings.code();
    if (code?.state === 'live' && codes.isExpired(code)) bindings.endCode('expired');
  });
}
