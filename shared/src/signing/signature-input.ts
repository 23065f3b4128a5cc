import { type BareItem, type InnerList, serializeInnerList, parseList } from 'structured-headers';
import { fromBase64 } from '../bytes.ts';
import { type SignatureRefusalReason, SignatureRefused } from './signature-refused.ts';
import { REQUIRED_COMPONENTS, isKnownComponent } from './signature-base.ts';

/** PROTOCOL.md section 3: the one label, algorithm and tag. There is no negotiation. */
export const LABEL = 'sv';
export const ALGORITHM = 'hmac-sha256';
export const TAG = 'sv-webhook-v1';

const PARAMETERS = ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'];
const NONCE = /^[A-Za-z0-9_-]{22,64}$/;
export const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** What `signRequest` writes, with names and parameters in its order. */
const OUR_FORM =
  /^\("([!#$%&'*+\-.^_`|~0-9a-z@]+(?:" "[!#$%&'*+\-.^_`|~0-9a-z@]+)*)"\);created=([1-9]\d{0,14});expires=([1-9]\d{0,14});nonce="([A-Za-z0-9_-]{22,64})";keyid="([A-Za-z0-9_-]{1,64})";alg="hmac-sha256";tag="sv-webhook-v1"$/;

/** What `Signature-Input` says. */
export interface SignatureInput {
  /** Component names in their order, lower case, without quotes. */
  readonly covered: readonly string[];
  /** Seconds since 1970. */
  readonly created: number;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly nonce: string;
  readonly keyId: string;
  readonly tag: string;
  /** The received bytes after `sv=`: the value of `"@signature-params"`. */
  readonly signatureParams: string;
}

/**
 * Reads the value of `Signature-Input`: one member `sv`, an inner list of names with the six parameters of protocol
 * section 3 and no others.
 *
 * The text must be the strict serialisation (RFC 9651 section 4.1) that senders have to write. A reader that takes
 * the received bytes and one that serialises anew then see the same base, and a repeated parameter, of which
 * the parser keeps the last, is found out.
 * @throws SignatureRefused
 */
export function readSignatureInput(value: string): SignatureInput {
  const signatureParams = afterLabel(value);
  const [, names, created, expires, nonce, keyId] = OUR_FORM.exec(signatureParams) ?? [];
  if (names === undefined || nonce === undefined || keyId === undefined) return readAnySignatureInput(value);
  return {
    created: Number(created),
    expires: Number(expires),
    nonce,
    keyId,
    tag: TAG,
    covered: checkNames(names.split('" "')),
    signatureParams,
  };
}

/** As {@link readSignatureInput}, in whatever order the parameters are. @throws SignatureRefused */
export function readAnySignatureInput(value: string): SignatureInput {
  const signatureParams = afterLabel(value);
  const [names, parameters] = parseOnlyInnerList(signatureParams);
  if (parameters.get('tag') !== TAG) refuse(parameters.has('tag') ? 'tag' : 'parameter_missing');
  if (parameters.get('alg') !== ALGORITHM) refuse(parameters.has('alg') ? 'algorithm' : 'parameter_missing');
  for (const name of parameters.keys()) if (!PARAMETERS.includes(name)) refuse('parameter_unknown');
  return {
    created: integer(parameters, 'created'),
    expires: integer(parameters, 'expires'),
    nonce: text(parameters, 'nonce', NONCE, 'nonce'),
    keyId: text(parameters, 'keyid', KEY_ID, 'key_id'),
    tag: TAG,
    covered: checkNames(componentNames(names)),
    signatureParams,
  };
}

/** Reads the value of `Signature`: one member `sv`, a byte sequence in strict base64. @throws SignatureRefused */
export function readSignature(value: string): Uint8Array {
  const text = afterLabel(value);
  const encoded = /^:([A-Za-z0-9+/=]*):$/.exec(text)?.[1];
  const bytes = encoded === undefined ? undefined : fromBase64(encoded);
  return bytes ?? refuse('signature_malformed');
}

function afterLabel(value: string): string {
  if (!value.startsWith(`${LABEL}=`)) refuse('label');
  return value.slice(LABEL.length + 1);
}

function parseOnlyInnerList(text: string): InnerList {
  try {
    const [member] = parseList(text);
    // Detects a second member as well: the text has it, the serialisation of the first one does not.
    if (member !== undefined && isInnerList(member) && serializeInnerList(member) === text) return member;
  } catch {
    // Not to be read; or, like a date without end, not to be written.
  }
  return refuse('signature_input_malformed');
}

function isInnerList(member: InnerList | readonly [BareItem, unknown]): member is InnerList {
  return Array.isArray(member[0]);
}

function componentNames(items: InnerList[0]): string[] {
  return items.map(([name, parameters]) =>
    typeof name === 'string' && parameters.size === 0 ? name : refuse('component_malformed'),
  );
}

function checkNames(names: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) refuse('component_repeated');
    if (!isKnownComponent(name)) refuse('component_unknown');
    seen.add(name);
  }
  for (const required of REQUIRED_COMPONENTS) if (!seen.has(required)) refuse('component_missing');
  return names;
}

function integer(parameters: InnerList[1], name: 'created' | 'expires'): number {
  const value: unknown = parameters.get(name);
  if (value === undefined) refuse('parameter_missing');
  return typeof value === 'number' && Number.isInteger(value) ? value : refuse(name);
}

function text(parameters: InnerList[1], name: string, form: RegExp, reason: SignatureRefusalReason): string {
  const value: unknown = parameters.get(name);
  if (value === undefined) refuse('parameter_missing');
  return typeof value === 'string' && form.test(value) ? value : refuse(reason);
}

function refuse(reason: SignatureRefusalReason): never {
  throw new SignatureRefused(reason);
}
