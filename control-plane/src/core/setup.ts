import type { Id } from '@svault/shared';

/** From an empty account to the first credential that an agent fetched. */
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

/** `open` is what a step is before anybody says otherwise. */
export const SETUP_STATES = ['open', 'done', 'dismissed'] as const;
export type SetupState = (typeof SETUP_STATES)[number];

/** What somebody said of a step. */
export interface SetupMark {
  readonly step: SetupStep;
  readonly state: SetupState;
  readonly markedAt: string;
}

export interface SetupStore {
  marks(vaultId: Id<'vlt'>): Promise<readonly SetupMark[]>;
  /** Takes the place of what was said of the step before. */
  mark(vaultId: Id<'vlt'>, mark: SetupMark, by: Id<'usr'>): Promise<void>;
}
