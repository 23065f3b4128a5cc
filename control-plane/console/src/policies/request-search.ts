/**
 * The members of a request in the address of a screen: the number of an event that reports it, or its parts. `method`, `path`
 * and `tool` are of what a proxy is asked.
 */
export const REQUEST_SEARCH = [
  'event',
  'agent',
  'proxy',
  'service',
  'at',
  'ip',
  'method',
  'path',
  'tool',
] as const;

export type RequestSearch = { readonly [Member in (typeof REQUEST_SEARCH)[number]]?: string };
