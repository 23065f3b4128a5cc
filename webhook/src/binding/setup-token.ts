import { type Secret, constantTimeEqual, randomToken, sha256, utf8 } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import type { BindingStore } from './binding-store.ts';

/** Twice the 128 bits of PROTOCOL.md section 5.1; 43 characters are pasted, not typed. */
const SETUP_TOKEN_BYTES = 32;

/** Whether a text is the set-up token: the configured one if there is one, otherwise the generated one. */
export function createSetupTokenCheck(deps: {
  readonly setupToken: Secret | undefined;
  readonly bindings: Pick<BindingStore, 'setupTokenHash'>;
}): (text: string) => boolean {
  const configuredHash = deps.setupToken === undefined ? undefined : sha256(utf8(deps.setupToken.reveal()));
  return (text) => {
    const expected = configuredHash ?? deps.bindings.setupTokenHash();
    // Hashes have one length, so the comparison reveals nothing of the token's.
    return expected !== undefined && constantTimeEqual(sha256(utf8(text)), expected);
  };
}

/** Tickets name the configured control plane as their issuer, so a binding to another one could never be used. */
class BoundElsewhere extends Error {
  constructor(bound: string, configured: string) {
    super(
      `this webhook is bound to ${bound}, but SV_WEBHOOK_SERVICE_URL is ${configured}: ` +
        'set it back, or bind again: svault webhook unbind, then unseal-bind here, then svault webhook bind',
    );
    this.name = 'BoundElsewhere';
  }
}

/** @throws BoundElsewhere if the stored binding is to another control plane than the configured one */
export function checkBinding(deps: {
  readonly serviceUrl: string;
  readonly bindings: Pick<BindingStore, 'binding'>;
}): void {
  const bound = deps.bindings.binding()?.serviceBaseUrl;
  if (bound !== undefined && bound !== deps.serviceUrl) throw new BoundElsewhere(bound, deps.serviceUrl);
}

/**
 * Generates the set-up token at the first start. Only its hash is stored: the text is to be printed once, so this is for a
 * start that listens already and cannot fail any more.
 *
 * @returns undefined if a set-up token is configured or was generated before, and after a restore
 * @throws ApiError UNAVAILABLE if something else changed the stored binding
 */
export async function firstSetupToken(deps: {
  readonly setupToken: Secret | undefined;
  readonly bindings: Pick<BindingStore, 'binding' | 'needsUnseal' | 'setupTokenHash' | 'putSetupTokenHash'>;
  readonly commit: GroupCommit;
  readonly logger: Pick<Logger, 'warn'>;
}): Promise<string | undefined> {
  const { setupToken, bindings, commit, logger } = deps;
  if (bindings.needsUnseal()) {
    if (bindings.binding() === undefined)
      logger.warn(
        'restored from a backup and not bound: to bind, run svault webhook unbind if the control plane is bound, then unseal-bind here',
      );
    return undefined;
  }
  if (setupToken !== undefined) return undefined;
  return commit.run(() =>
    bindings.setupTokenHash() === undefined ? replaceSetupTokenNow(bindings) : undefined,
  );
}

/** A new set-up token in place of any former one, in an open transaction; the text is to be printed once. */
export function replaceSetupTokenNow(bindings: Pick<BindingStore, 'putSetupTokenHash'>): string {
  const token = randomToken(SETUP_TOKEN_BYTES);
  bindings.putSetupTokenHash(sha256(utf8(token)));
  return token;
}
