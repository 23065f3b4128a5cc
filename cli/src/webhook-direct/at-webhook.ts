import type { ActingLogin } from '../contexts/acting-login.ts';
import { orElse } from '../failure.ts';

/** A call of a webhook, whose failure says what to do where no webhook answers. @throws Failure */
export const atWebhook = <T>({ context }: ActingLogin, call: Promise<T>): Promise<T> =>
  orElse(call, (failure) => {
    // What a webhook said itself has a code.
    if (!failure.isOfAddress && (failure.exit !== 'unavailable' || failure.code !== undefined)) throw failure;
    const next =
      context.kind === 'admin'
        ? 'that is the address of your webhook: svault webhook status shows whether the control plane reaches it'
        : 'that is the address of the owner’s webhook: ask them to check it with svault webhook status';
    throw failure.saying(`${failure.message}; ${next}`);
  });
