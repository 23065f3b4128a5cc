const LOADS = [
  /<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc="((?:https?:)?\/\/[^"]+)"/g,
  /<link\b[^>]*\bhref="((?:https?:)?\/\/[^"]+)"/g,
  /@import\s+(?:url\()?["']?((?:https?:)?\/\/[^"')]+)/g,
  /url\(["']?((?:https?:)?\/\/[^"')]+)/g,
];

/** What a browser would load from another host for a page, a style sheet or a script. Links that a person follows are none. */
export const requestsToOthers = (text: string): readonly string[] =>
  LOADS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, url = '']) => url));
