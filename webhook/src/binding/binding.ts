import type { Secret } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { AuditLog } from '../audit/audit-log.ts';
import type { BindingCodes } from './binding-codes.ts';
import {
  type BindingStore,
  type KeyState,
  type SecretWrapper,
  type StoredBinding,
  keyPurpose,
} from './binding-store.ts';
import { replaceSetupTokenNow } from './setup-token.ts';

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

/**
 * Unbinds on the webhook's machine: erases binding, keys, code and set-up token at once (PROTOCOL.md section 5.1). A
 * running serve rejects the next request already. Unless a set-up token is configured there is a new one, since the
 * first one was printed long ago.
 *
 * @returns the new set-up token, to be printed once (undefined if one is configured), and whether there was a binding
 */
export async function unsealBinding(deps: {
  readonly bindings: BindingStore;
  /** What was asked under a binding ends with it. */
  readonly approvals: { endAll(): void };
  readonly commit: GroupCommit;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly setupToken: Secret | undefined;
}): Promise<{ readonly setupToken: string | undefined; readonly wasBound: boolean }> {
  const { bindings, approvals, commit, audit } = deps;
  return commit.run(() => {
    // Rows that something else wrote are erased too, but the log does not repeat what they say.
    const isAuthentic = bindings.isAuthentic();
    const former = isAuthentic ? bindings.binding() : undefined;
    const wasBound = former !== undefined || !isAuthentic;
    bindings.reset();
    approvals.endAll();
    if (wasBound) {
      const detail =
        former === undefined
          ? { changedOutside: true }
          : { serviceBaseUrl: former.serviceBaseUrl, vaultId: former.vaultId };
      audit.appendNow({ eventType: 'WEBHOOK_UNBOUND', outcome: 'success', detail });
    }
    return {
      setupToken: deps.setupToken === undefined ? replaceSetupTokenNow(bindings) : undefined,
      wasBound,
    };
  });
}
