type KeyKind = 'admin' | 'agent';

/**
 * Form of a key, as `isWellFormedKey` of `@svault/shared` has it, which takes longer to load than a command should wait; a test
 * compares the two.
 */
const FORMS: Readonly<Record<KeyKind, RegExp>> = {
  agent: /^svagent_[A-Za-z0-9_-]{43}$/,
  admin: /^svadmin_[A-Za-z0-9_-]{43}$/,
};
const SHOWN_CHARACTERS = 4;

/** What a message may say of keys that are none; the text that was given is not in it, since it may be most of a key. */
const KEY_FORMS = 'svagent_… of an agent or svadmin_… of an admin';

/** Completes “SVAULT_KEY …” for a text that is no key, without the text. */
export const problemOfKey = (text: string): string =>
  kindOfKey(text.replaceAll(/\s/g, '')) === undefined
    ? formProblemOf(text)
    : 'has a line break or a space in it: export SVAULT_KEY="$(tr -d \'[:space:]\' < FILE)" takes them out';

/** Completes “that …” for a text that has not the form of a login's key, without the text. */
export const formProblemOf = (text: string): string =>
  text.startsWith('mcp_')
    ? `is the key of a proxy (mcp_…), for clients at /api/proxy/mcp and /api/proxy/http; the command line takes ${KEY_FORMS}`
    : `is not a key: ${KEY_FORMS}`;

/** @returns undefined for a text that is no key */
export function kindOfKey(text: string): KeyKind | undefined {
  if (FORMS.agent.test(text)) return 'agent';
  return FORMS.admin.test(text) ? 'admin' : undefined;
}

/** What may be shown of a key: `svagent_abcd…`, as the control plane shows it in its lists. */
export const shownKey = (key: string): string => `${key.slice(0, key.indexOf('_') + 1 + SHOWN_CHARACTERS)}…`;
