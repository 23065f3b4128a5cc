import { type SignedMessage, fieldsByName } from './message.ts';
import { SignatureRefused } from './signature-refused.ts';

/** Every signed request covers these (PROTOCOL.md section 3). */
export const REQUIRED_COMPONENTS = ['@method', '@authority', '@path', '@query'] as const;

/** A field name of RFC 9110 in lower case. */
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** RFC 9421 section 2.5: a base is ASCII, one component a line. A field's value may contain tabs. */
const LINE_SAFE = /^[\t\x20-\x7e]*$/;
const TARGET_SAFE = /^[\x21-\x7e]+$/;

/** Whether this profile can cover a component: the four derived ones, and any field. */
export function isKnownComponent(component: string): boolean {
  return (REQUIRED_COMPONENTS as readonly string[]).includes(component) || FIELD_NAME.test(component);
}

/**
 * The signature base of RFC 9421 section 2.5: the input of the MAC, and the first thing to compare when
 * two sides disagree. Lines end with LF, the last one without.
 * @param components names in the order of `Signature-Input`, lower case, without quotes
 * @param signatureParams the value of `"@signature-params"`: the bytes after `sv=` in `Signature-Input`
 * @throws SignatureRefused if a component is unknown, or a covered field is absent, repeated, or holds
 *   a character that cannot be in a line
 */
export function signatureBase(
  message: SignedMessage,
  components: readonly string[],
  signatureParams: string,
): string {
  // One pass over the headers: an agent's request to an HTTP API may have thousands of fields, all of them covered.
  const fields = fieldsByName(message.headers);
  const lines = components.map(
    (component) => `"${component}": ${componentValue(message, fields, component)}`,
  );
  lines.push(`"@signature-params": ${signatureParams}`);
  return lines.join('\n');
}

type Fields = ReturnType<typeof fieldsByName>;

function componentValue(message: SignedMessage, fields: Fields, component: string): string {
  switch (component) {
    case '@method':
      return inTarget(message.method);
    case '@authority':
      return inTarget(message.authority);
    case '@path':
      return inTarget(message.path);
    case '@query':
      // RFC 9421 section 2.2.7: an absent query is a lone question mark.
      return message.query === '' ? '?' : inTarget(message.query);
    default:
      return onlyFieldValue(fields, component);
  }
}

function onlyFieldValue(fields: Fields, component: string): string {
  if (!FIELD_NAME.test(component)) throw new SignatureRefused('component_unknown');
  const [value, ...others] = fields.get(component) ?? [];
  if (value === undefined) throw new SignatureRefused('field_missing');
  if (others.length > 0) throw new SignatureRefused('field_repeated');
  if (!LINE_SAFE.test(value)) throw new SignatureRefused('field_value');
  return value;
}

function inTarget(value: string): string {
  if (!TARGET_SAFE.test(value)) throw new SignatureRefused('target');
  return value;
}
