import { REDACTED, type KnownSecrets } from '../redaction/known-secrets.ts';
import { printable } from '../redaction/printable.ts';

/** A body as a report shows it. */
export interface ShownBody {
  /** Without secrets and control characters; may have line feeds. */
  readonly text: string;
  /** Of the whole body. */
  readonly bytes: number;
  /** There is more than `text` shows. */
  readonly cut: boolean;
}

const SHOWN_CHARACTERS = 4000;
/** More than any spelling of a secret, so that none is halved before it is found. */
const MARGIN_CHARACTERS = 4000;

/** Members whose values are secrets, without `_` and `-` and in lower case. */
const SECRET_NAMES = new Set([
  'accesstoken',
  'apikey',
  'clientassertion',
  'clientsecret',
  'hmackey',
  'hmacsecret',
  'idtoken',
  'key',
  'masterkey',
  'otpauthuri',
  'passphrase',
  'password',
  'privatekey',
  'refreshtoken',
  'secret',
  'secretaccesskey',
  'seed',
  'sessiontoken',
  'setuptoken',
  'token',
  'value',
]);

/**
 * @param mayShow whether a text under a secret's name is one that the suite made itself; absent: all of the body is
 * @param wholeBytes where `body` is only the beginning
 */
export function shownBody(
  body: Uint8Array,
  secrets: KnownSecrets,
  options: { readonly mayShow?: (text: string) => boolean; readonly wholeBytes?: number | undefined } = {},
): ShownBody {
  const bytes = options.wholeBytes ?? body.byteLength;
  if (secrets.isIn(body))
    return { text: `(bytes with a secret of the webhook in them) ${REDACTED}`, bytes, cut: true };
  const returned =
    options.mayShow === undefined ? decoded(body) : withoutSecretMembers(decoded(body), options.mayShow);
  const text = printable(secrets.redact(returned.slice(0, SHOWN_CHARACTERS + MARGIN_CHARACTERS)));
  const cut = text.length > SHOWN_CHARACTERS || bytes > body.byteLength;
  return { text: text.slice(0, SHOWN_CHARACTERS), bytes, cut };
}

function decoded(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return Buffer.from(body).toString('latin1');
  }
}

/** JSON is written anew where it held something to hide; what is no JSON is searched for members that look like it. */
function withoutSecretMembers(returned: string, mayShow: (text: string) => boolean): string {
  let hidden = false;
  const hide = (value: unknown): string => {
    hidden = true;
    return `${REDACTED} (${typeof value === 'string' ? `${value.length} characters` : typeof value} that the suite did not send)`;
  };
  const cleaned = (value: unknown, isSecret: boolean, depth: number): unknown => {
    if (depth > MAX_DEPTH) return '(nested too deep to be shown)';
    if (Array.isArray(value)) return value.map((each) => cleaned(each, isSecret, depth + 1));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => {
          // `token` is also the object that a right answer has a credential in, beside its name and its times.
          const inside = isSecretName(name) && !(name === 'token' && typeof each === 'object');
          return [name, cleaned(each, isSecret || inside, depth + 1)];
        }),
      );
    if (!isSecret || value === null || typeof value === 'boolean' || value === '') return value;
    return typeof value === 'string' && mayShow(value) ? value : hide(value);
  };
  try {
    const written = JSON.stringify(cleaned(JSON.parse(returned), false, 0));
    return hidden ? written : returned;
  } catch {
    return returned.replace(MEMBER, (all, before: string, name: string, value: string) =>
      isSecretName(name) && !mayShow(value) ? before + hide(value) : all,
    );
  }
}

const MAX_DEPTH = 200;
const MEMBER = /((?:^|[^\w-])["']?([\w-]{1,32})["']?\s{0,8}[:=]\s{0,8}["']?)([^\s"'&,;<>{}[\]]{6,})/g;

function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replace(/[_-]/g, ''));
}
