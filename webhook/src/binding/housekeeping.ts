import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { TimeFloor } from '../replay/time-floor.ts';
import type { BindingCodes } from './binding-codes.ts';
import type { BindingStore } from './binding-store.ts';

/** Erases what is over: a former key after its ten minutes, the secret behind a code after its five. */
export async function eraseWhatIsOver(deps: {
  readonly store: Pick<BindingStore, 'keys' | 'code' | 'eraseFormerKey' | 'endCode'>;
  readonly codes: Pick<BindingCodes, 'isLate'>;
  readonly floor: Pick<TimeFloor, 'latestMs'>;
  readonly commit: GroupCommit;
}): Promise<void> {
  const { store, codes, floor, commit } = deps;
  await commit.run(() => {
    const former = store.keys().find(({ state }) => state === 'former');
    if (former?.validUntilMs !== undefined && former.validUntilMs <= floor.latestMs()) store.eraseFormerKey();
    const code = store.code();
    if (code?.state === 'live' && codes.isLate(code)) store.endCode('expired');
  });
}
