import { usage } from '../failure.ts';
import type { Context } from './context.ts';

/** What the login of SVAULT_KEY is called; no login that is kept is called so. */
export const ENVIRONMENT_NAME = 'env';

const MAX_CHARACTERS = 64;
const FORM = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** Whether this can be the name of a login: it is a part of commands, and of the name of a keychain entry. */
export const isContextName = (text: string): boolean => FORM.test(text) && text !== ENVIRONMENT_NAME;

/** @throws Failure usage */
export function checkedContextName(text: string): string {
  if (isContextName(text)) return text;
  throw usage(
    text === ENVIRONMENT_NAME
      ? `${ENVIRONMENT_NAME} is what the login of SVAULT_KEY is called; choose another name`
      : 'a login’s name is 1 to 64 letters, digits and . _ @ -, and begins with a letter or a digit',
  );
}

/** The default name of a login: the host of its control plane; for an agent also the start of its key. */
export function defaultContextName(
  context: Pick<Context, 'kind' | 'baseUrl'> & { readonly keyPrefix?: string },
): string {
  const { hostname, port } = new URL(context.baseUrl);
  const start = context.keyPrefix?.replace(/^svagent_/, '') ?? '';
  const end = [port, ...(context.kind === 'agent' ? ['agent', start] : [])]
    .filter((part) => part !== '')
    .map((part) => `-${part.replaceAll(/[^A-Za-z0-9._@-]/g, '')}`)
    .join('');
  const host = hostname.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[^A-Za-z0-9]+|-+$/g, '');
  return `${host.slice(0, MAX_CHARACTERS - end.length) || 'svault'}${end}`;
}
