import { PAGE_STYLE } from './page-style.ts';

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

/** A server-rendered page without scripts, to be sent under {@link pageHeaders}. @param title the page's heading too */
export function htmlPage(title: string, body: SafeHtml): string {
  const heading = safeHtml`${title}`.toString();
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${heading} · svault</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
${body.toString()}
</main>
</body>
</html>
`;
}
