import { PAGE_SCRIPT } from './page-script.ts';
import { PAGE_STYLE } from './page-style.ts';
import { type SafeHtml, safeHtml } from './safe-html.ts';

/** What is on each page of a program. */
export interface PageIdentity {
  readonly program: 'control plane' | 'webhook';
  /** The program's public address. */
  readonly url: string;
}

/** One page. */
export interface PageContent {
  /** Of the program's list of pages, each of which the browser tests visit. */
  readonly name: string;
  /** The heading. */
  readonly title: string;
  readonly body: SafeHtml;
  /** Where the reader goes from here. Undefined only where the body ends with a form. */
  readonly next: SafeHtml | undefined;
  /** E-mail address of the signed-in user. */
  readonly account?: string | undefined;
  /** Whether the page has what {@link PAGE_SCRIPT} brings to life. */
  readonly usesScript?: boolean;
  /** In the place of that, a script that may call the page's own origin. */
  readonly script?: string;
}

const PURPOSES: Readonly<Record<PageIdentity['program'], string>> = {
  'control plane': 'it decides who may use a credential, and never sees one.',
  webhook: 'it holds your credentials.',
};

/** A rounded square with a keyhole. */
const MARK = safeHtml`<svg class="mark" viewBox="0 0 28 28" width="28" height="28" aria-hidden="true" focusable="false"><path
 fill-rule="evenodd" d="M7 0h14a7 7 0 0 1 7 7v14a7 7 0 0 1-7 7H7a7 7 0 0 1-7-7V7a7 7 0 0 1 7-7zm7 6a5 5 0 0 0-2.4 9.4L10 22h8l-1.6-6.6A5 5 0 0 0 14 6z"/></svg>`;

/** A whole page, to be sent under `pageHeaders`. */
export function htmlPage(identity: PageIdentity, content: PageContent): string {
  const script = scriptOf(content);
  const { name, title, body, next, account } = content;
  const instance = identity.url.replace(/^https?:\/\//, '');
  const page = safeHtml`<header>
${MARK}
<p class="product"><strong>svault</strong> <span class="instance">${instance}</span></p>
${account === undefined ? undefined : safeHtml`<p class="account"><span class="unseen">Signed in as </span><bdi>${account}</bdi></p>`}
</header>
<main data-page="${name}">
<h1>${title}</h1>
${body}
${next === undefined ? undefined : safeHtml`<div class="next">${next}</div>`}
</main>
<footer>
<p>svault ${identity.program} at ${instance}: ${PURPOSES[identity.program]}</p>
</footer>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${safeHtml`${title}`.toString()} · svault</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
${page.toString()}
${script === undefined ? '' : `<script>${script}</script>\n`}</body>
</html>
`;
}

/** The one script of a page; undefined if it has none. */
export const scriptOf = ({
  usesScript = false,
  script,
}: Pick<PageContent, 'script' | 'usesScript'>): string | undefined =>
  script ?? (usesScript ? PAGE_SCRIPT : undefined);
