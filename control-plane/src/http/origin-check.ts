/** Reads a request header by its lower-case name. */
type HeaderReader = (name: string) => string | undefined;

/**
 * Whether a browser says that a state-changing request comes from our own pages.
 *
 * `Origin` must be ours. Pages that send no referrer make browsers write `Origin: null` for a form (Fetch, "append
 * a request Origin header"), so there `Sec-Fetch-Site: same-origin` counts, which no page's script can set.
 * A request without `Origin` is refused: every browser sends it with a POST.
 */
export function comesFromOrigin(header: HeaderReader, ownOrigin: string): boolean {
  const origin = header('origin');
  if (origin === 'null') return header('sec-fetch-site') === 'same-origin';
  return origin === ownOrigin;
}
