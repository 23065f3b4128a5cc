import { type SafeHtml, safeHtml } from '@svault/server-kit/safe-html';
import { lookalikesIn, visibleLine, visibleText } from '@svault/shared';

/** A text of somebody else's, on lines of its own, whose direction changes nothing around it. */
export const untrustedBlock = (text: string, label: string): SafeHtml =>
  safeHtml`<pre class="untrusted" tabindex="0" role="region" aria-label="${label}"><bdi>${visibleText(text)}</bdi></pre>`;

/** A word of somebody else's inside of a line. */
export const untrustedWord = (text: string): SafeHtml => safeHtml`<bdi>${visibleLine(text)}</bdi>`;

/**
 * Points out characters of a name that look like others, as the `а` of Cyrillic does: what the name has.
 *
 * @returns nothing for a name of ASCII
 */
export function lookalikeNote(name: string): SafeHtml | undefined {
  const found = lookalikesIn(name);
  if (found === undefined) return undefined;
  const named = found.named.map(({ character, code }) => safeHtml`${untrustedWord(character)} (${code})`);
  const rest = found.more > 0 ? ` and ${found.more} more` : '';
  const list = named.map((each, at) => (at < named.length - 1 ? safeHtml`${each},` : each));
  return safeHtml`characters that are not plain letters and may look like some: ${list}${rest}`;
}
