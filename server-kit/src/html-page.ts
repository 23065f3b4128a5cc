import { PAGE_STYLE } from './page-style.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text made safe for element content and quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/**
 * A server-rendered page without scripts, to be sent under {@link pageHeaders}.
 *
 * @param title plain text; the page's heading too
 * @param body HTML whose variable parts went through {@link escapeHtml}
 */
export function htmlPage(title: string, body: string): string {
  const heading = escapeHtml(title);
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
${body}
</main>
</body>
</html>
`;
}
