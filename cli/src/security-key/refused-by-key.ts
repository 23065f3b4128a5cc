import { Failure } from '../failure.ts';
import { plainLine } from '../output/plain-line.ts';

type Refusal = readonly [exit: 'denied' | 'failed', message: string];

/** What `fido_strerr` of libfido2 names, and what a person does about it. CTAP 2.1 section 8.2 has the meanings. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  NO_CREDENTIALS: [
    'denied',
    'the security key has no passkey of this webhook: approver-link on the webhook’s machine makes a link that registers one',
  ],
  PIN_INVALID: ['denied', 'that is not the PIN of the security key'],
  PIN_AUTH_BLOCKED: [
    'denied',
    'the security key takes no PIN after three wrong ones: pull it out, plug it in and try again',
  ],
  PIN_BLOCKED: [
    'denied',
    'the security key is blocked by too many wrong PINs: only a reset, which erases it, helps',
  ],
  PIN_NOT_SET: ['denied', 'the security key has no PIN: fido2-token -S DEVICE sets one'],
  PIN_REQUIRED: ['denied', 'the security key wants a PIN: fido2-token -S DEVICE sets one'],
  UV_BLOCKED: [
    'denied',
    'the security key recognises no finger after too many wrong ones: its PIN unblocks that',
  ],
  UV_INVALID: ['denied', 'the security key did not recognise the finger'],
  UNSUPPORTED_OPTION: [
    'denied',
    'the security key cannot tell who touches it: it needs a PIN or a fingerprint',
  ],
  OPERATION_DENIED: ['denied', 'it was declined at the security key'],
  KEEPALIVE_CANCEL: ['denied', 'it was declined at the security key'],
  ACTION_TIMEOUT: ['failed', 'the security key was not touched in time'],
  USER_ACTION_TIMEOUT: ['failed', 'the security key was not touched in time'],
  TIMEOUT: ['failed', 'the security key was not touched in time'],
};
const UNOPENED =
  'the security key cannot be opened: fido2-token -L lists those that are plugged in; on Linux a rule of udev lets you use it';

/** Such as `PIN_INVALID`; undefined where the program says no code. */
export const codeIn = (stderr: string): string | undefined => /FIDO_ERR_([A-Z_]+)/.exec(stderr)?.[1];

/** What a program of libfido2 ended with. @param stderr its last line has the reason */
export function refusedByKey(stderr: string): Failure {
  const code = codeIn(stderr);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  if (/invalid PIN length/.test(last))
    return new Failure(
      'denied',
      'no PIN of 4 to 63 characters was typed: it is asked for on the terminal, and needs one',
    );
  const known = code === undefined ? undefined : REFUSALS[code];
  const [exit, message] =
    known ??
    (/fido_dev_open/.test(last)
      ? (['failed', UNOPENED] as const)
      : (['failed', `the security key did not sign: ${plainLine(last).slice(0, 200)}`] as const));
  return new Failure(exit, code === undefined ? message : `${message} (FIDO_ERR_${code})`);
}
