import type { Clock, Secret } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import type { AuditLog } from '../audit/audit-log.ts';
import type { ClaimStore } from '../replay/claim-store.ts';
import { type FreshnessCheck, createFreshnessCheck } from '../replay/freshness.ts';
import { forgetPastClaims } from '../replay/sweep.ts';
import { type TimeFloorStore, createTimeFloor } from '../replay/time-floor.ts';
import { type AdmissionDesk, createAdmissionDesk } from './admission.ts';
import { type BindDesk, createBindDesk } from './bind-desk.ts';
import { type BindingCodes, createBindingCodes } from './binding-codes.ts';
import type { BindingStore, SecretWrapper } from './binding-store.ts';
import { type BindingReader, createBindingReader } from './binding.ts';
import { type Exchange, createExchange } from './exchange.ts';
import { newHmacSecret } from './fresh-key.ts';
import { eraseWhatIsOver } from './housekeeping.ts';
import { type Registration, makeRegistration } from './registration-link.ts';
import { type RotateKey, createKeyRotation } from './rotation.ts';
import { createSetupTokenCheck, makeFirstSetupToken } from './setup-token.ts';
import { type Unsealed, unsealBinding } from './unseal.ts';

/** Everything that decides who may come in, built once from its stores. */
export interface Door {
  readonly binding: BindingReader;
  readonly desk: AdmissionDesk;
  readonly isFresh: FreshnessCheck;
  readonly codes: BindingCodes;
  readonly bindDesk: BindDesk;
  readonly exchange: Exchange;
  readonly rotate: RotateKey;
  /**
   * Before anything is served.
   *
   * @returns the set-up token where it was just made, to be printed once
   * @throws AppError UNAVAILABLE when the binding at rest was changed by something else
   * @throws BoundElsewhere when the binding at rest is to another service than the configured one
   */
  start(): Promise<string | undefined>;
  /** After the last request: what is over stays over when the next start finds the clock set back. */
  stop(): Promise<void>;
  /** A registration link without a browser, for `bind-link`; @throws AppError SETUP_REQUIRED */
  makeLink(): Promise<Registration>;
  /** For `unseal-bind`. */
  unseal(): Promise<Unsealed>;
  /** Now and then: erases keys and codes that are over and forgets claims that are past. */
  tidy(): Promise<void>;
}

/** Tickets name the configured service as their issuer, so a binding to another one could never be used. */
class BoundElsewhere extends Error {
  constructor(bound: string, configured: string) {
    super(
      `this webhook is bound to ${bound}, but SV_WEBHOOK_SERVICE_URL is ${configured}: ` +
        'set it back, or run unseal-bind and bind again',
    );
    this.name = 'BoundElsewhere';
  }
}

export function createDoor(deps: {
  readonly bindings: BindingStore;
  readonly claims: ClaimStore & TimeFloorStore;
  readonly secrets: SecretWrapper;
  readonly commit: GroupCommit;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly serviceUrl: string;
  readonly webhookUrl: string;
  readonly setupToken: Secret | undefined;
  readonly capabilities: readonly string[];
  readonly restoredAtMs: number | undefined;
}): Door {
  const { bindings: store, claims, commit, setupToken, serviceUrl } = deps;
  const floor = createTimeFloor({ ...deps, store: claims });
  const binding = createBindingReader({ ...deps, store, floor });
  const codes = createBindingCodes({ ...deps, store, floor });
  const isSetupToken = createSetupTokenCheck({ configured: setupToken, store });
  return {
    binding,
    codes,
    desk: createAdmissionDesk({ ...deps, floor }),
    isFresh: createFreshnessCheck({ ...deps, floor }),
    bindDesk: createBindDesk({ ...deps, binding, needsUnseal: store.needsUnseal, codes, isSetupToken }),
    exchange: createExchange({ ...deps, store, codes }),
    rotate: createKeyRotation({ ...deps, store }),
    start: async () => {
      const bound = store.binding()?.serviceBaseUrl;
      if (bound !== undefined && bound !== serviceUrl) throw new BoundElsewhere(bound, serviceUrl);
      if (store.needsUnseal()) {
        if (bound === undefined)
          deps.logger.warn('restored from a backup and not bound: run unseal-bind to bind');
        return undefined;
      }
      return makeFirstSetupToken({ configured: setupToken, store, commit });
    },
    stop: async () => {
      await eraseWhatIsOver({ store, codes, floor, commit });
      await commit.run(() => floor.save());
    },
    makeLink: () => makeRegistration({ codes, serviceUrl, webhookUrl: deps.webhookUrl }, newHmacSecret()),
    unseal: () => unsealBinding({ ...deps, store, setupTokenConfigured: setupToken !== undefined }),
    tidy: async () => {
      await eraseWhatIsOver({ store, codes, floor, commit });
      await forgetPastClaims({ claims, floor, commit });
    },
  };
}
