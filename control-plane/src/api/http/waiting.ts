import { abortOnDisconnect } from '@svault/server-kit/streamed-response';
import type { ServerResponse } from 'node:http';
import { MAX_WAIT_SECONDS, type Waiting } from '../../access/decision.ts';
import { MAX_REASON_CHARACTERS } from '../../core/approval.ts';

/** What a request says about approvals that it may need. */
export interface Asking {
  /** Seconds; 0: it does not wait. */
  readonly wait: number;
  readonly reason: string | undefined;
}

/** `message` is for the caller. */
export type AskingRead = Asking | { readonly message: string };

/** @param wait as text @param names of both, as the caller knows them */
export function readAsking(
  wait: string | undefined,
  reason: string | undefined,
  names: { readonly wait: string; readonly reason: string },
): AskingRead {
  const seconds = wait === undefined ? 0 : /^\d{1,2}$/.test(wait) ? Number(wait) : Number.NaN;
  return checkAsking(seconds, reason, names);
}

/** {@link readAsking} of what has its types already. */
export function checkAsking(
  wait: unknown,
  reason: unknown,
  names: { readonly wait: string; readonly reason: string },
): AskingRead {
  if (!(Number.isInteger(wait) && (wait as number) >= 0 && (wait as number) <= MAX_WAIT_SECONDS))
    return { message: `${names.wait} must be a whole number of seconds, 0 to ${MAX_WAIT_SECONDS}.` };
  if (reason !== undefined && !isReason(reason))
    return { message: `${names.reason} must be text of 1 to ${MAX_REASON_CHARACTERS} characters.` };
  return { wait: wait as number, reason };
}

/** Text that both programs can store. */
export const isReason = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length > 0 &&
  value.length <= MAX_REASON_CHARACTERS &&
  value.isWellFormed() &&
  !value.includes('\0');

/** Undefined for a request that does not wait. */
export const waitingOf = ({ wait }: Asking, res: ServerResponse): Waiting | undefined =>
  wait === 0 ? undefined : { seconds: wait, signal: abortOnDisconnect(res) };
