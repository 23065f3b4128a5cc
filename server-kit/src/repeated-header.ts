/**
 * Whether a header occurs more than once. Node silently keeps the first of two `Authorization` headers, so only the raw
 * headers show it.
 * @param rawHeaders as Node gives them: name, value, name, value, …
 */
export function occursTwice(rawHeaders: readonly string[], lowerCaseName: string): boolean {
  let seen = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== lowerCaseName.length || name.toLowerCase() !== lowerCaseName) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}
