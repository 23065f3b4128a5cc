const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML that can be sent as it is. Only {@link safeHtml} makes it, so that no text passes for it. */
export class SafeHtml {
  readonly #text: string;

  /** @param parts escaped unless they are HTML themselves */
  constructor(strings: TemplateStringsArray, parts: readonly HtmlPart[]) {
    this.#text = String.raw({ raw: strings }, ...parts.map(htmlOf));
  }

  toString(): string {
    return this.#text;
  }
}

/** What a template of HTML takes: text, nested HTML, a list of either (one on a line), or nothing. */
type HtmlPart = string | number | SafeHtml | undefined | readonly HtmlPart[];

function htmlOf(part: HtmlPart): string {
  if (part === undefined) return '';
  if (part instanceof SafeHtml) return part.toString();
  if (typeof part === 'object') return part.map(htmlOf).join('\n');
  return String(part).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/**
 * The template tag that every page is written with: text between `${` and `}` is safe as element content and in a quoted
 * attribute. It is not called `html`, since Prettier would reformat such templates. A package for this many lines would be
 * one more to trust inside the process that holds credentials; those that are maintained also accept booleans and raw HTML.
 */
export const safeHtml = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): SafeHtml =>
  new SafeHtml(strings, parts);
