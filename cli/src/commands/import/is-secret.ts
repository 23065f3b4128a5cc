/** Programs fill these in: `${NAME}`, `${env:NAME}`, `${input:token}`, `$NAME`, and addresses of secrets in other vaults. */
const REFERENCE =
  /\$\{[^}]*\}|\$\([^)]*\)|^\$[A-Za-z_]\w*$|^%\w+%$|^(?:op|vault|keychain|secret|ssm):\/\/|^\{\{.*\}\}$/;
const PLACEHOLDER =
  /^(?:change[-_ ]?(?:me|it|this)|replace[-_ ]?(?:me|this)?|to-?do|fix-?me|placeholder|example|sample|dummy|test|none|null|undefined|secret|password|token|key|n\/?a|tbd|foo|bar|insert[-_ ].*|your[-_ ].*|enter[-_ ].*|<.*>|\[.*\]|.*[-_ ]here|\.{2,})$/i;
/** `xxxx`, `****`, and what a prefix of a provider begins: `sk-xxxxxxxx`. */
const FILLED = /^(?:[A-Za-z]{1,12}[-_]){0,3}([xX*.#0-])\1{2,}$/;
/** No secret has so few values. */
const SWITCH = /^(?:true|false|yes|no|on|off|enabled|disabled|auto|default|\d{1,5})$/i;

/** The first are often written without a `_` before them: `PGPASSWORD`. */
const SECRET_WORDS =
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY)S?(?:_|$)|(?:^|_)(?:PASS|PWD|PAT|KEY|CREDENTIALS?|AUTH|AUTHORIZATION|BEARER|DSN|COOKIE)(?:_|$)/;
/** What such a name says when it ends so: where it is, how long it lives, which one it is. */
const ABOUT_SECRETS =
  /_(?:ID|FILE|PATH|DIR|NAME|URL|URI|HOST|PORT|TTL|EXPIRY|EXPIRES(?:_IN)?|TYPE|METHOD|MODE|LENGTH|SIZE|ALGORITHM|ALG|ISSUER|AUDIENCE|HEADER|PREFIX|ENABLED|LIMIT|COUNT|BUDGET|MAX|MIN)$|^MAX_|^MIN_/;
/** Bundlers put these into pages; there is nothing secret about them. */
const PUBLIC =
  /(?:^|_)PUBLI(?:C|SHABLE)(?:_|$)|^(?:VITE|REACT_APP|EXPO_PUBLIC|NUXT_PUBLIC|NEXT_PUBLIC|GATSBY)_/;
/** Forms that providers gave their secrets so that programs recognise them. */
const KNOWN_FORM =
  /^(?:gh[oprsu]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|whsec_\S{8,}|xox[abeprs]-[\w-]{8,}|xapp-[\w-]{8,}|npm_\w{16,}|pypi-\S{16,}|AIza[\w-]{30,}|SG\.[\w.-]{16,}|hf_\w{16,}|lin_api_\w{8,}|eyJ[\w-]+\.[\w-]+\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----)/;

/** Keys of agents, admins and proxies, and settings of the two programs: no webhook should hold them. */
const OWN_KEY = /^(?:svagent_|svadmin_|mcp_)[A-Za-z0-9_-]{20,}$/;
const OWN_SETTING = /^(?:SV|SVAULT)_/;

/** What to make of a value: `svault` for what is a key of svault itself. */
export type Judgement = 'secret' | 'svault' | 'other';

/** Whether a text is a reference to a value that is kept elsewhere, or one that has yet to be filled in. */
export const isPlaceholder = (value: string): boolean =>
  value.trim() === '' || REFERENCE.test(value) || PLACEHOLDER.test(value.trim()) || FILLED.test(value.trim());

/** Whether it is a key of svault. */
export const isOwnKey = (value: string): boolean => OWN_KEY.test(value);

/**
 * Judges a setting by its name and the form of its value (docs/guides/import.md has the rules). A value in the form of a
 * provider’s secret, or an address with a password in it, is one whatever its name.
 */
export function judged(name: string, value: string): Judgement {
  if (isOwnKey(value)) return 'svault';
  if (isPlaceholder(value) || SWITCH.test(value)) return 'other';
  const upper = wordsOf(name);
  if (OWN_SETTING.test(upper)) return 'other';
  if (KNOWN_FORM.test(value) || hasPassword(value)) return 'secret';
  return isSecretName(name) ? 'secret' : 'other';
}

/** Whether a setting is called as secrets are. */
export function isSecretName(name: string): boolean {
  const upper = wordsOf(name);
  return SECRET_WORDS.test(upper) && !ABOUT_SECRETS.test(upper) && !PUBLIC.test(upper);
}

/** `apiKey` and `X-Api-Key` as `API_KEY` and `X_API_KEY`. */
const wordsOf = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();

/** `postgres://me:secret@host/shop` */
function hasPassword(value: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/\s]*@/i.test(value)) return false;
  const password = URL.parse(value)?.password ?? '';
  return password !== '' && !isPlaceholder(decodedIfPossible(password));
}

function decodedIfPossible(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
