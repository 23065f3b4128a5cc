import { AeadFailed } from '@svault/server-kit/aead';
import { canonicalJson } from '@svault/shared/audit-chain';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { toBase64url } from '@svault/shared';
import {
  type SecretWrapper,
  type StoredBinding,
  type StoredCode,
  type StoredKey,
  bindingChanged,
} from '../binding/binding-store.ts';
import type { Rewrappable } from '../vault/master-key-rotation.ts';

type BindingRow = Omit<StoredBinding, 'complete'> & { readonly complete: 0 | 1 };

/** Every row that decides who may bind, sign and issue tickets, as one moment had them. */
export interface BindingState {
  readonly binding: StoredBinding | undefined;
  readonly keys: readonly StoredKey[];
  readonly code: StoredCode | undefined;
  readonly setupTokenHash: Uint8Array | undefined;
  readonly restored: boolean;
  /** Rises with each change. */
  readonly generation: number;
  /** Of a binding that nothing was ever written to, undefined. */
  readonly mac: Uint8Array | undefined;
}

const NOTHING = new Uint8Array();

/**
 * One MAC over all of these rows together, under the root key: none can be changed, added, removed or put back by
 * itself. Wrapped secrets are left out, as each is bound to its own row (keyPurpose, codePurpose) and is rewrapped.
 */
const purposeOf = ({ binding, keys, code, setupTokenHash, restored, generation }: BindingState): string =>
  `binding-state:${canonicalJson({
    binding: binding ?? null,
    keys: keys.map(({ id, state, validUntilMs }) => ({ id, state, validUntilMs })),
    code: code
      ? { hash: toBase64url(code.codeHash), expiresAtMs: code.expiresAtMs, state: code.state }
      : null,
    setupTokenHash: setupTokenHash ? toBase64url(setupTokenHash) : null,
    restored,
    generation,
  })}`;

/**
 * Reads the rows of tables `binding`, `binding_keys`, `binding_code`, `setup_token` and `binding_state`, unchecked; of
 * one moment in a transaction.
 */
export function createBindingStateReader(db: SqliteDatabase): () => BindingState {
  const readBinding = db.prepare<[], BindingRow>(
    `SELECT webhook_id AS webhookId, service_base_url AS serviceBaseUrl, vault_id AS vaultId, complete
     FROM binding`,
  );
  const readKeys = db.prepare<[], StoredKey>(
    'SELECT id, state, secret AS wrappedSecret, valid_until AS validUntilMs FROM binding_keys ORDER BY row',
  );
  const readCode = db.prepare<[], StoredCode>(
    `SELECT code_hash AS codeHash, expires_at AS expiresAtMs, state, secret AS wrappedSecret
     FROM binding_code`,
  );
  const readSetupToken = db.prepare<[], Uint8Array>('SELECT hash FROM setup_token').pluck();
  const readState = db.prepare<
    [],
    { readonly generation: number; readonly restored: 0 | 1; readonly mac: Uint8Array }
  >('SELECT generation, restored, mac FROM binding_state');
  return () => {
    const state = readState.get();
    const binding = readBinding.get();
    return {
      binding: binding && { ...binding, complete: binding.complete === 1 },
      keys: readKeys.all(),
      code: readCode.get(),
      setupTokenHash: readSetupToken.get(),
      restored: state?.restored === 1,
      generation: state?.generation ?? 0,
      mac: state?.mac,
    };
  };
}

/** Whether the rows are those that this program wrote last, as far as they can tell by themselves. */
export function isAuthentic(state: BindingState, secrets: Pick<SecretWrapper, 'unwrap'>): boolean {
  const { mac, binding, keys, code, setupTokenHash } = state;
  if (mac === undefined) return (binding ?? keys[0] ?? code ?? setupTokenHash) === undefined;
  try {
    return secrets.unwrap(mac, purposeOf(state)).length === 0;
  } catch (error) {
    if (error instanceof AeadFailed) return false;
    throw error;
  }
}

/** Authenticates the rows as they stand, inside the transaction that changed them. */
export function createBindingStateSeal(
  db: SqliteDatabase,
  secrets: Pick<SecretWrapper, 'wrap'>,
): (next: { readonly generation: number; readonly restored: boolean }) => void {
  const read = createBindingStateReader(db);
  const put = db.prepare<[number, number, Uint8Array]>(
    'INSERT OR REPLACE INTO binding_state (one, generation, restored, mac) VALUES (1, ?, ?, ?)',
  );
  return ({ generation, restored }) => {
    const mac = secrets.wrap(NOTHING, purposeOf({ ...read(), generation, restored }));
    put.run(generation, restored ? 1 : 0, mac);
  };
}

/** The MAC over the binding, for a rotation of the root key. */
export function createBindingStateRewrap(db: SqliteDatabase): Rewrappable {
  const read = createBindingStateReader(db);
  const put = db.prepare<[Uint8Array]>('UPDATE binding_state SET mac = ?');
  return {
    rewrap: (rewrap, after) => {
      const state = after === 0 ? read() : undefined;
      if (state?.mac === undefined) return undefined;
      try {
        const moved = rewrap(state.mac, purposeOf(state));
        if (moved !== undefined) put.run(moved);
      } catch (error) {
        if (error instanceof AeadFailed) throw bindingChanged();
        throw error;
      }
      return 1;
    },
  };
}
