/** Whether a page may read a response, by the `Origin` of its request. */
type OriginVerdict =
  /** No origin is named, or our own: the response needs no header. */
  { readonly allowed: true; readonly cors: readonly string[] } | { readonly allowed: false };

const NO_CORS: OriginVerdict = { allowed: true, cors: [] };
const DENIED: OriginVerdict = { allowed: false };

/**
 * Checks the pages that call an endpoint for programs. A program sends no `Origin`; a browser sends one with every POST,
 * and what it names must be ours or on the operator's list (`SV_MCP_ALLOWED_ORIGINS`). `null` is never allowed.
 *
 * @param allowed origins as browsers write them
 * @param exposed response headers that scripts of these origins may read
 * @returns `cors`: the headers that let a page of that origin read the response, flat
 */
export function createOriginCheck(options: {
  readonly ownOrigin: string;
  readonly allowed: readonly string[];
  readonly exposed: readonly string[];
}): (origin: string | undefined) => OriginVerdict {
  const exposed = ['Access-Control-Expose-Headers', options.exposed.join(', ')];
  const verdicts = new Map<string, OriginVerdict>(
    options.allowed.map((origin) => [
      origin,
      { allowed: true, cors: ['Access-Control-Allow-Origin', origin, 'Vary', 'Origin', ...exposed] },
    ]),
  );
  // Last, so that listing our own origin changes nothing.
  verdicts.set(options.ownOrigin, NO_CORS);
  return (origin) => (origin === undefined ? NO_CORS : (verdicts.get(origin) ?? DENIED));
}

/** For a request whose origin is not allowed. */
export const FOREIGN_ORIGIN =
  'Pages of that origin may not call this endpoint; SV_MCP_ALLOWED_ORIGINS lists those that may.';
