/** What the browser shows at the end of a sign-in. It holds nothing of the answer. */
export function answerPage(outcome: 'allowed' | 'denied'): string {
  const text =
    outcome === 'allowed'
      ? 'svault has its answer. Close this page and go back to your terminal.'
      : 'svault is not signed in. You can close this page.';
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>svault</title></head>
<body><p>${text}</p></body>
</html>
`;
}

/** Nothing is loaded or kept, and the address, which holds the code, goes nowhere else. */
export const ANSWER_PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
} as const;
