/** Protocol section 5.6: where the credential goes in a template's value, in either spelling. */
const MARKER = /\$\{TOKEN\}|\$<TOKEN>/g;

/** How often a template's value asks for the credential. */
export function markersIn(value: string): number {
  return value.match(MARKER)?.length ?? 0;
}

/** The value with the credential in the place of each marker, in one pass: what was put in is not looked at again. */
export function fillMarkers(value: string, token: string): string {
  // By a function, since `$&` in a replacement text would mean the marker itself.
  return value.replaceAll(MARKER, () => token);
}
