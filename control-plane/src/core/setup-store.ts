import type { Id } from '@svault/shared';
import type { SetupMark } from './setup-step.ts';

export interface SetupStore {
  marks(vaultId: Id<'vlt'>): Promise<readonly SetupMark[]>;
  /** Takes the place of what was said of the step before. */
  mark(vaultId: Id<'vlt'>, mark: SetupMark, by: Id<'usr'>): Promise<void>;
}
