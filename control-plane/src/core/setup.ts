import type { Id } from '@svault/shared';

/** The steps from an empty account to the first credential that an agent fetches. */
export const SETUP_STEPS = [
  'bind-webhook',
  'store-credential',
  'create-agent',
  'grant-access',
  'first-access',
] as const;
export type SetupStep = (typeof SETUP_STEPS)[number];

export const isSetupStep = (text: string): text is SetupStep =>
  (SETUP_STEPS as readonly string[]).includes(text);

/** A step is `open` by default. */
export const SETUP_STATES = ['open', 'done', 'dismissed'] as const;
export type SetupState = (typeof SETUP_STATES)[number];

export interface SetupMark {
  readonly step: SetupStep;
  readonly state: SetupState;
  readonly markedAt: string;
}

export interface SetupStore {
  marks(vaultId: Id<'vlt'>): Promise<readonly SetupMark[]>;
  /** Replaces the step's mark. */
  mark(vaultId: Id<'vlt'>, mark: SetupMark, by: Id<'usr'>): Promise<void>;
}
