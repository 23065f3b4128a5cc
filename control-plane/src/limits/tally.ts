import type { Counter, LimitedCaller } from './limiter.ts';
import type { PenaltyBox } from './penalty-box.ts';
import type { Window } from './window.ts';

/** A counter with the account that it belongs to; none where it counts an address. */
export interface OwnedCounter extends Omit<Counter, 'scope'> {
  readonly scope: Counter['scope'] | 'user_aggregate';
  readonly vaultId: string | undefined;
}

/** What has been counted: all the state that a decision reads and changes. */
export interface Tally {
  window(counter: OwnedCounter): Window | undefined;
  setWindow(counter: OwnedCounter, window: Window): void;
  box(caller: LimitedCaller): PenaltyBox | undefined;
  setBox(caller: LimitedCaller, box: PenaltyBox): void;
  boxesOf(vaultId: string): Iterable<readonly [callerId: LimitedCaller['callerId'], PenaltyBox]>;
}
