import { type PairOptions, type TestPair, startPair } from '@svault/test-kit/pair';
import type { ManualClock } from '@svault/shared';
import { type Call, clientOf } from './management-service.ts';
import { type ServiceSteps, stepsOn } from './service-steps.ts';
import { type StoredState, storedState } from './stored-state.ts';

/** A service with the reference webhook beside it. */
export interface PairedService extends ServiceSteps {
  readonly pair: TestPair;
  readonly clock: ManualClock;
  readonly state: StoredState;
  readonly admin: Call;
  readonly anyone: Call;
  stop(): Promise<void>;
}

export async function startPairedService(options: PairOptions = {}): Promise<PairedService> {
  const pair = await startPair({ logLevel: 'silent', ...options });
  const url = pair.controlPlaneUrl();
  const admin = clientOf(url, { authorization: `Bearer ${pair.adminKey}` });
  return {
    ...stepsOn(url, admin),
    pair,
    clock: pair.clock,
    state: storedState(pair.databaseUrl),
    admin,
    anyone: clientOf(url),
    stop: () => pair.close(),
  };
}
