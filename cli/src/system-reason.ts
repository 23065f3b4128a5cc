import { getSystemErrorMap } from 'node:util';

/** What the system says of a call that failed, without the call and the path. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'errno' in error && typeof error.errno === 'number'
    ? (getSystemErrorMap().get(error.errno)?.[1] ?? error.message)
    : error.message;
}

/** Such as ENOENT; undefined for an error of anything but the system. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
