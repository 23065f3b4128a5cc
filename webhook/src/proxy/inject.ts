import { fillMarkers, isFieldValue, markersIn } from '@svault/shared';

/** Of all templates together: more than any credential needs, and markers multiply what is put in. */
const MAX_CHARACTERS = 128 * 1024;

export type Headers = ReadonlyMap<string, string>;

/**
 * What the templates come to with the credential in the place of their markers (protocol section 5.6).
 *
 * @returns values by names in lower case; undefined where one would be no legal field value, or all together too large
 */
export function injectToken(
  headerTemplates: Readonly<Record<string, string>>,
  token: string,
): Headers | undefined {
  const templates = Object.entries(headerTemplates);
  const characters = templates.map(([, value]) => value.length + markersIn(value) * token.length);
  if (characters.reduce((sum, length) => sum + length, 0) > MAX_CHARACTERS) return undefined;
  const headers = new Map<string, string>();
  for (const [name, template] of templates) {
    const value = fillMarkers(template, token);
    if (!isFieldValue(value)) return undefined;
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}
